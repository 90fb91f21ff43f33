"""Which IP addresses are never public destinations.

The tables follow the IANA special-purpose address registries (IPv4 and IPv6) as of 2026-12-01.
IPv4 is an allowed space with holes. IPv6 is the reverse: only global unicast (2000::/3) is open,
so every block handed out later outside it stays closed until somebody decides otherwise.
`ipaddress.is_global` is no substitute: it lets NAT64, 6to4, Teredo and 13 more forms through.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network

REFUSED_IPV4: Final = tuple(
    (IPv4Network(cidr), use)
    for cidr, use in (
        ("0.0.0.0/8", "this host on this network"),
        ("10.0.0.0/8", "private use"),
        ("100.64.0.0/10", "shared by carriers"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "Azure platform services, although it looks public"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private use"),
        ("192.0.0.0/24", "IETF protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "AS112"),
        ("192.52.193.0/24", "AMT"),
        ("192.88.99.0/24", "6to4 relays, deprecated"),
        ("192.168.0.0/16", "private use"),
        ("192.175.48.0/24", "AS112, delegated"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved and broadcast"),
    )
)

GLOBAL_IPV6: Final = IPv6Network("2000::/3")

#: Holes inside `GLOBAL_IPV6`.
REFUSED_IPV6: Final = tuple(
    (IPv6Network(cidr), use)
    for cidr, use in (
        ("2001::/23", "IETF protocol assignments: Teredo, ORCHID, benchmarking, AMT"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("2620:4f:8000::/48", "AS112"),
        ("3fff::/20", "documentation"),
    )
)

#: Where cloud platforms hand out credentials. Open only to a rule that names one of them exactly.
METADATA: Final[frozenset[IPAddress]] = frozenset(
    ip_address(text)
    for text in (
        "100.100.100.200",
        "168.63.129.16",
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "192.0.0.192",
        "fd00:ec2::23",
        "fd00:ec2::254",
    )
)


def plain_address(text: str) -> IPAddress:
    """`text` as an address, IPv4 unwrapped from `::ffff:0:0/96`; raises ValueError.

    A zone id (`fe80::1%eth0`) is dropped: the address is what is judged.
    """
    address = ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


@lru_cache(maxsize=4096)
def special_use(address: IPAddress) -> str | None:
    """What the registries reserve `address` for, or None where it is an ordinary public one."""
    if isinstance(address, IPv4Address):
        return next((use for network, use in REFUSED_IPV4 if address in network), None)
    if address not in GLOBAL_IPV6:
        return "outside global unicast"
    return next((use for network, use in REFUSED_IPV6 if address in network), None)
