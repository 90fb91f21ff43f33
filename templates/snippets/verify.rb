require "base64"
require "openssl"

# True if Relay sent these bytes within the last five minutes.
def verify(secret, headers, body)
  sent_at = headers["webhook-timestamp"]
  return false if (Time.now.to_i - Integer(sent_at, 10)).abs > 300

  key = Base64.decode64(secret.delete_prefix("whsec_"))
  signed = "#{headers["webhook-id"]}.#{sent_at}.#{body}"
  expected = "v1,#{Base64.strict_encode64(OpenSSL::HMAC.digest("SHA256", key, signed))}"
  headers["webhook-signature"].split.any? { |one| OpenSSL.secure_compare(one, expected) }
end

SEEN = {} # keep this in your database, and change it in one step

# False for a request whose worker has lost its lease to another one.
def current?(headers)
  delivery, token = headers["relay-delivery"], Integer(headers["relay-lease-token"], 10)
  return false if token < SEEN.fetch(delivery, 0)

  SEEN[delivery] = token
  true
end
