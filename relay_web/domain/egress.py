"""Where Relay may connect to. Deny by default; the operator opens private ranges by name.

Both halves of the guard ask here: the URL rules when an endpoint is saved, and the transport with
the numeric address it is about to connect to. Only the second is protection, the first is manners.
"""

import re
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Final

from relay_web.domain.addresses import (
    METADATA,
    IPAddress,
    IPNetwork,
    plain_address,
    special_use,
)
from relay_web.errors import BadSetting

#: One text for every refusal, so that the answer tells nothing about what is there.
BLOCKED: Final = "This address is not allowed"
#: The `code` of the `Invalid` that such a refusal raises.
BLOCKED_CODE: Final = "blocked_address"

HTTPS_PORTS: Final = frozenset({443, 8443})
HTTP_PORTS: Final = frozenset({80, 8080})

#: Ports of protocols that a request could be mistaken for: the Fetch standard's list of bad ports,
#: and the databases that answer to plain text. No setting opens these.
NEVER_PORTS: Final = frozenset({
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666,
    6667, 6668, 6669, 6679, 6697, 9200, 10080, 11211, 27017,
})  # fmt: skip

_RULE: Final = re.compile(
    r"(?P<network>[0-9.]+(?:/\d{1,2})?|[0-9A-Fa-f:.]+/\d{1,3})(?::(?P<port>\d{1,5}))?"
)


@dataclass(frozen=True, slots=True)
class AllowRule:
    """A range that may be called although it is not public. `port` None: any but `NEVER_PORTS`."""

    network: IPNetwork
    port: int | None = None

    def covers(self, address: IPAddress, port: int) -> bool:
        return self.port in (None, port) and address in self.network

    @property
    def is_exact(self) -> bool:
        return self.network.num_addresses == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """What one instance may call. The default is a public instance: https, nothing private."""

    allow_http: bool = False
    allow: tuple[AllowRule, ...] = ()
    #: Numeric addresses of this machine's interfaces: calling them would be a loop.
    own_addresses: frozenset[str] = frozenset()
    #: `host` or `host:port` of the instance's public URL.
    own_hosts: frozenset[str] = frozenset()
    extra_ports: frozenset[int] = frozenset()

    @staticmethod
    def parse_allow(text: str) -> tuple[AllowRule, ...]:
        """`RELAY_EGRESS_ALLOW`: `cidr[:port],…`; raises `BadSetting` naming the wrong part."""
        return tuple(_rule(part.strip()) for part in text.split(",") if part.strip())

    @property
    def public_ports(self) -> frozenset[int]:
        """The ports that may be called on public addresses."""
        ports = HTTPS_PORTS | self.extra_ports | (HTTP_PORTS if self.allow_http else frozenset())
        return ports - NEVER_PORTS

    def takes_port(self, port: int) -> bool:
        """Whether any address at all may be called on `port`."""
        if port in NEVER_PORTS:
            return False
        return port in self.public_ports or any(rule.port in (None, port) for rule in self.allow)

    @property
    def is_inward(self) -> bool:
        """Whether private destinations are meant, so that names which only exist inside may be."""
        return bool(self.allow)


def address_refusal(ip: str, port: int, policy: EgressPolicy) -> str | None:
    """Why `ip` (numeric) may not be called on `port`, or None. Every refusal is the same text.

    A rule of the operator's opens what it covers, except that the addresses of `METADATA` need a
    rule for that single address. The rest is open where it is public and not this machine.
    """
    if port in NEVER_PORTS:
        return BLOCKED
    try:
        address = plain_address(ip)
    except ValueError:
        return BLOCKED
    rules = [rule for rule in policy.allow if rule.covers(address, port)]
    if address in METADATA:
        return None if any(rule.is_exact for rule in rules) else BLOCKED
    if rules:
        return None
    if str(address) in policy.own_addresses or special_use(address):
        return BLOCKED
    return None if port in policy.public_ports else BLOCKED


def _rule(text: str) -> AllowRule:
    found = _RULE.fullmatch(text)
    if found is None:
        raise BadSetting(
            f"RELAY_EGRESS_ALLOW holds {text!r}; "
            "write ranges as 10.0.0.0/8 or 10.1.2.3/32:8080, separated by commas."
        )
    try:
        network = ip_network(found["network"])
    except ValueError as problem:
        raise BadSetting(f"RELAY_EGRESS_ALLOW: {problem}.") from None
    port = int(found["port"]) if found["port"] else None
    if port is not None and (port in NEVER_PORTS or port > 65535):
        raise BadSetting(f"RELAY_EGRESS_ALLOW opens port {port}, which Relay never calls.")
    return AllowRule(network, port)
