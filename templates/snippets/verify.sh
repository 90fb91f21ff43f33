# verify SECRET ID TIMESTAMP SIGNATURES BODY_FILE; the middle three are the webhook-* headers
verify() {
  local key expected one
  [ $(( $(date +%s) - $3 )) -le 300 ] && [ $(( $3 - $(date +%s) )) -le 300 ] || return 1
  key=$(printf %s "${1#whsec_}" | base64 -d | od -An -v -tx1 | tr -d ' \n')
  expected=$({ printf '%s.%s.' "$2" "$3"; cat "$5"; } |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)
  for one in $4; do [ "$one" = "v1,$expected" ] && return 0; done
  return 1
}
