import { createHmac, timingSafeEqual } from "node:crypto";

// True if Relay sent these bytes (a Buffer) within the last five minutes.
export function verify(secret, headers, body) {
  const sentAt = headers["webhook-timestamp"];
  if (!(Math.abs(Date.now() / 1000 - Number(sentAt)) <= 300)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signed = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${sentAt}.`), body]);
  const expected = Buffer.from("v1," + createHmac("sha256", key).update(signed).digest("base64"));
  return headers["webhook-signature"].split(" ").some((one) => {
    const given = Buffer.from(one);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

const seen = new Map(); // keep this in your database, and change it in one step

// False for a request whose worker has lost its lease to another one.
export function isCurrent(headers) {
  const delivery = headers["relay-delivery"];
  const token = Number(headers["relay-lease-token"]);
  if (token < (seen.get(delivery) ?? 0)) return false;
  seen.set(delivery, token);
  return true;
}
