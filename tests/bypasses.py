"""Addresses that must never be called, by row of `rows.BYPASSES`, as somebody would write them."""

from typing import Final

INSIDE: Final[dict[str, tuple[str, ...]]] = {
    "S1": (
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.0.1", "100.64.0.1",
        "0.0.0.0", "255.255.255.255",
    ),
    "S3": (
        "169.254.169.254", "169.254.170.2", "[fd00:ec2::254]", "100.100.100.200", "192.0.0.192",
        "168.63.129.16", "metadata.google.internal",
    ),
    "S4": (
        "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "0", "127.000.000.001",
    ),
    "S5": ("①②⑦.⓪.⓪.①", "127。0。0。1", "\uff4cocalhost"),
    "S6": (
        "localhost", "LOCALHOST", "localhost.", "a.localhost", "ip6-localhost",
        "host.docker.internal", "kubernetes.default.svc", "intranet",
    ),
    "S8": (
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
        "[::ffff:0:7f00:1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
        "[2001::1]", "[fe80::1%25lo]", "[fc00::1]", "[fec0::1]", "[ff02::1]", "[100::1]",
        "[3fff::1]", "[5f00::1]",
    ),
}  # fmt: skip

#: Whole URLs: what parsers read differently, other schemes, ports, Relay itself.
URLS: Final[dict[str, tuple[str, ...]]] = {
    "S11": (
        "http://127.0.0.1:80\\@ok.test/", "http://ok.test\\.evil/", "http://ok.test@127.0.0.1/",
        "http://127.0.0.1#@ok.test/", "http://ok.test;@127.0.0.1/", "http://%31%32%37.0.0.1/",
        "http://127.0.0.1%2f@ok.test/", "http:///127.0.0.1", "http:127.0.0.1", "//127.0.0.1/",
        "http://ok\t.test/", "http://ok.te\nst/",
    ),
    "S12": tuple(
        f"{scheme}://ok.test/x"
        for scheme in ("file", "ftp", "gopher", "dict", "ldap", "data", "javascript", "jar",
                       "unix", "ws", "HTTP+unix")
    ),
    "S13": tuple(
        f"https://ok.test:{port}/"
        for port in ("0", "22", "25", "6379", "27017", "65536", "-1", "080")
    ),
    "S14": ("https://relay.example/api/v1/events", "https://RELAY.example./"),
    "S17": ("https://ok.test/a b", "https://ok.test/a\r\nX: 1", "https://ok.test/" + "a" * 2049),
}  # fmt: skip


def urls(row: str) -> list[str]:
    """Every URL of a row, with and without a port."""
    inside = [f"https://{host}{port}/x" for host in INSIDE.get(row, ()) for port in ("", ":8443")]
    return inside + list(URLS.get(row, ()))
