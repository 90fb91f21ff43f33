"""The addresses of this machine's own interfaces: a delivery to one of them would be a loop."""

import re
from ipaddress import IPv6Address
from pathlib import Path
from typing import Final

_IPV4: Final = Path("/proc/net/fib_trie")
_IPV6: Final = Path("/proc/net/if_inet6")
_LOCAL: Final = re.compile(r"\|-- ([0-9.]+)\n\s+/32 host LOCAL")


def local_addresses() -> frozenset[str]:
    """Numeric addresses as the kernel lists them; empty where it does not say (not Linux).

    Only public ones add anything: the private ones are refused by the tables already.
    """
    try:
        four = set(_LOCAL.findall(_IPV4.read_text()))
        lines = _IPV6.read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(four | {str(IPv6Address(bytes.fromhex(line[:32]))) for line in lines})
