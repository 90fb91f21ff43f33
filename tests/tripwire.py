"""No test may ever connect to an address that Relay must not call.

`install()` hooks `socket.connect` in this process for good. Allowed are Unix sockets and loopback,
without the part of it that stands for forbidden places: a test that needs an address which answers
and yet must not be called takes one in `FORBIDDEN`. A connect elsewhere is noted in `tripped` and
refused before a packet leaves; `conftest.py` fails the test that caused it.
"""

import sys
from ipaddress import IPv4Network, ip_address

#: Loopback addresses that answer on Linux and are out of bounds all the same.
FORBIDDEN = IPv4Network("127.66.0.0/16")

tripped: list[str] = []
_installed = False


class Tripped(Exception):
    """A test tried to connect where nothing may."""


def install() -> None:
    """Watch this process from now on. Once is enough; a hook cannot be taken away again."""
    global _installed
    if not _installed:
        _installed = True
        sys.addaudithook(_watch)


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and not _is_allowed(str(address[0])):
        tripped.append(f"{address[0]}:{address[1]}")
        raise Tripped(f"connect to {address[0]}:{address[1]}")


def _is_allowed(host: str) -> bool:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost"
    return address.is_loopback and address not in FORBIDDEN
