<?php
// True if Relay sent these bytes within the last five minutes.
function verify(string $secret, array $headers, string $body): bool
{
    $sentAt = $headers["webhook-timestamp"];
    if (abs(time() - (int) $sentAt) > 300) {
        return false;
    }
    $key = base64_decode(preg_replace("/^whsec_/", "", $secret));
    $signed = $headers["webhook-id"] . "." . $sentAt . "." . $body;
    $expected = "v1," . base64_encode(hash_hmac("sha256", $signed, $key, true));
    foreach (explode(" ", $headers["webhook-signature"]) as $one) {
        if (hash_equals($expected, $one)) {
            return true;
        }
    }
    return false;
}

// False for a request whose worker has lost its lease to another one.
// Keep $seen in your database, and change it in one step.
function isCurrent(array $headers, array &$seen): bool
{
    [$delivery, $token] = [$headers["relay-delivery"], (int) $headers["relay-lease-token"]];
    if ($token < ($seen[$delivery] ?? 0)) {
        return false;
    }
    $seen[$delivery] = $token;
    return true;
}
