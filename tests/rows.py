"""What tests refer to by letter and number: bad input (B), bypasses (S), rules of signing (G).

`test_rows.py` fails for a row that no test names.
"""

from typing import Final

#: Input, and the answer to it; none is 500.
BAD_INPUT: Final = """
B1 no Authorization: 401
B2 another scheme, no token, two Authorization headers: 401
B3 an unknown, revoked or expired key: 401, the same words
B4 a key without the scope: 403
B5 a key in the address: 400, and a mark in the audit log
B6 an empty body: 400
B7 broken JSON: 400 with line and column
B8 a list, a text, null: 400
B9 another Content-Type or none: 415
B10 another charset: 415
B11 bytes that are not UTF-8: 400 with the offset
B12 a byte order mark: 400
B13 NaN, Infinity: 400
B14 the same key twice: 400 naming it
B15 nested deeper than 32: 400
B16 more than 256 KiB, announced, sent, or without end: 413, and reading stops
B17 a compressed body: 415
B18 a length that is wrong, negative, or there twice: 400, connection closed
B19 no type: 422
B20 a type of the wrong form: 422
B21 no data: 422
B22 numbers past any type: passed on byte for byte
B23 odd keys in data: passed on unchanged
B24 half a character: 400
B25 an unknown field: 422 naming it
B26 a time without sense or zone: 422
B27 an odd Idempotency-Key: 400
B28 the same key and body: the same event
B29 the same key, another body: 409 with the first event
B30 the same key from another team: another event
B31 an id with a full stop or a space: 422
B32 over the team's rate: 429 with Retry-After
B33 a suspended team: 403 with the reason
B34 no database: 503, safe to send again
B35 nobody listens: 202 with 0 deliveries
B36 a delivery sent back to Relay: 508
B37 another method: 405 with Allow
B38 a batch of none, of 101, with one bad item: 422, nothing stored
B39 no URL: 422
B40 a URL without its scheme: 422
B41 http in production: 422
B42 an internal address or name: 422
B43 what parsers read differently, other schemes: 422
B44 a password in a URL: 422
B45 a fragment: 422
B46 another port: 422 with those allowed
B47 a URL or label too long, broken IDNA: 422
B48 an international name: stored as A-label, shown in both forms
B49 a name too long or unprintable: 422
B50 markup in a name: text
B51 event types none, too many, twice, a wrong pattern: 422, or kept once
B52 a header of Relay's or HTTP's, a line break, too long: 422 naming it
B53 a secret of the wrong form: 422 with the rule
B54 a rate that is none: 422 with the range
B55 a timeout of an endpoint's own: 422, there is none
B56 a retry schedule that falls, or is too long: 422
B57 one endpoint too many: 409
B58 the same URL twice: saved with a warning
B59 a stale edit: 409
B60 deleting twice: 404
B61 an edit of a deleted endpoint: 404
B62 a fifth old secret: 409
B63 a test event to a paused endpoint: 409
B64 an address that is none: 422
B65 a weak password: 422 with the rule
B66 a password of 10 MB: 413
B67 a wrong password, an unknown address: the same words
B68 the sixth try: 429
B69 no form token, an old one, another's: 403
B70 a field sent twice, or as an operator: 400
B71 a `next` to another site: home
B72 inviting a member, or above one's role: 409, 403
B73 a dead invitation: one page
B74 the last owner leaves: 409
B75 a team name that is none: 422
B76 a time zone that is none: 422
B77 an id of another team, or of nobody: byte-equal 404s
B78 a cursor of another list: 400
B79 a limit out of range: 422
B80 a time range that is none: 422
B81 a state that is none: 422
B82 a search of 500 characters or with operators: literal
B83 cancelling what has ended: 409
B84 cancelling what is under way: 200, it may still arrive
B85 retrying what is under way: 202
B86 retrying without a payload: 410
B87 retrying at 200 attempts: 409
B88 retrying to a deleted or paused endpoint: 409
B89 bulk retry of nothing: 422
B90 a double click: one effect
B91 odd methods, paths, headers and hosts: 200, 204, 400, 404, 405, 414, 431
B92 htmx without a session: the whole page moves to the sign-in
"""

BYPASSES: Final = """
S1 plain internal addresses
S2 their neighbours, which are allowed
S3 metadata services
S4 addresses as numbers
S5 look-alike digits and letters
S6 internal names
S7 a public name that leads inside
S8 IPv6 in every spelling
S9 a name that changes its answer
S10 redirects
S11 what parsers read differently
S12 other schemes
S13 ports
S14 Relay itself
S15 proxies and other settings of the machine
S16 headers that are not headers
S17 paths that break a line
S18 bad certificates
S19 the same by way of an edit, a test event, a recovery
S20 a name that moves after it was saved
S21 hostile answers
S22 reading back through the error of a refusal
"""

SIGNING: Final = """
G1 the three headers, webhook-id the same on every attempt
G2 id, time and body joined by full stops
G3 the stored bytes, unchanged
G4 the form of a secret
G5 one space between signatures, the newest first, five at most
G6 an old secret signs until its end
G7 the time is that of the attempt
G8 Ed25519 beside HMAC
G9 the published vectors
G10 our own lines sign, the libraries verify
G11 500 bodies, two rotations, retries, both libraries
"""


def numbers(table: str) -> list[str]:
    """The rows of a table, such as B1."""
    return [line.split(" ", 1)[0] for line in table.strip().splitlines()]
