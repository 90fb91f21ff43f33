"""Endpoint URLs: one strict parser for the form, the API, edits, imports and the send itself.

It is our own and small on purpose. Two parsers that read one URL differently are how a guard is
walked around, so what this one does not understand is refused, and the transport connects to the
parts it returned, never to a text that somebody parses again.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final

import idna

from relay_web.domain.addresses import plain_address
from relay_web.domain.egress import BLOCKED, BLOCKED_CODE, EgressPolicy, address_refusal
from relay_web.errors import Invalid

__all__ = ["EgressPolicy", "Target", "address_refusal", "check_url", "parse", "readable_host"]

MAX_URL: Final = 2048
DEFAULT_PORTS: Final = {"https": 443, "http": 80}

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PARTS: Final = re.compile(r"//(?P<authority>[^/?#]+)(?P<rest>[^#]*)(?P<fragment>#.*)?")
_AUTHORITY: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::(?P<port>[^:]*))?")
_PORT: Final = re.compile(r"[1-9][0-9]{0,4}")
#: Never in any part of a URL. Browsers and proxies drop or turn these before they look.
_ODD: Final = re.compile(
    r"[\x00-\x20\x7f\\\u0080-\u00a0\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f]"
)
#: What RFC 3986 lets stand unescaped in a path or query, and a `%` that begins no escape.
_UNESCAPED: Final = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~!$&'()*+,;=:@/?%-]")
_NUMERIC_LABEL: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
#: Names that mean something only inside one machine or network.
_INSIDE: Final = frozenset(
    {"arpa", "internal", "lan", "local", "localdomain", "localhost", "onion", "svc"}
)


@dataclass(frozen=True, slots=True)
class Target:
    """A checked URL in the parts a request needs. `host` is an A-label name or a bare address."""

    scheme: str
    host: str
    port: int
    #: Path and query, percent-escaped: what stands in the request line.
    path: str
    #: Whether `host` is an address and needs no look-up.
    is_address: bool

    @property
    def authority(self) -> str:
        """The Host header: brackets round IPv6, no default port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The canonical form, which is stored and sent."""
        return f"{self.scheme}://{self.authority}{self.path}"


def check_url(text: object, policy: EgressPolicy) -> str:
    """The canonical form of an endpoint URL; raises `Invalid` (field `url`) with what to do."""
    return parse(text, policy).url


def parse(text: object, policy: EgressPolicy) -> Target:
    """The parts of an endpoint URL by the rules of reliability §3.2; raises `Invalid`."""
    if not isinstance(text, str) or not text:
        raise _invalid("Enter the URL to deliver to, such as https://example.com/hooks.")
    if len(text) > MAX_URL:
        raise _invalid(f"Use a URL of at most {MAX_URL:,} characters.")
    if _ODD.search(text):
        raise _not_valid("it holds a space, a backslash or an invisible character")
    scheme, after = _scheme(text, policy)
    parts = _PARTS.fullmatch(after)
    if parts is None:
        raise _not_valid("write it as https://host/path")
    authority, rest = parts["authority"], parts["rest"]
    if "@" in authority:
        raise _not_valid("it holds a user name. Use a custom header for credentials")
    if parts["fragment"] is not None:
        raise _not_valid("leave out the # and what follows it")
    if not rest.isascii():
        raise _not_valid("percent-encode what is not ASCII in the path and query")
    path = _UNESCAPED.sub(lambda odd: f"%{ord(odd[0]):02X}", rest)
    if not path.startswith("/"):
        path = f"/{path}"
    host, port, is_address = _place(authority, scheme, policy)
    target = Target(scheme, host, port, path, is_address)
    if len(target.url) > MAX_URL:
        raise _invalid(f"Use a URL of at most {MAX_URL:,} characters, counted with its escapes.")
    return target


def readable_host(host: str) -> str:
    """`host` as people write it: `xn--bcher-kva.example` is `bücher.example`."""
    try:
        return idna.decode(host) if "xn--" in host else host
    except idna.IDNAError:
        return host


def _scheme(text: str, policy: EgressPolicy) -> tuple[str, str]:
    found = _SCHEME.match(text)
    if found is None or re.match(r"\d+(?:/|$)", text[found.end() :]):  # example.com:8443/x
        raise _invalid("Start with https://, as in https://example.com/hooks.")
    scheme = found[1].lower()
    if scheme == "http" and not policy.allow_http:
        raise _invalid("Use https only on this instance; start with https://.")
    if scheme not in DEFAULT_PORTS:
        raise _not_valid("start with https://")
    return scheme, text[found.end() :]


def _place(authority: str, scheme: str, policy: EgressPolicy) -> tuple[str, int, bool]:
    """Host, port, and whether the host is an address."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise _not_valid("check the host and port")
    port = _port(found["port"], scheme, policy)
    address = _address(found["host"])
    if address is not None:
        if address_refusal(str(address), port, policy):
            raise _blocked("Relay does not call internal addresses.")
        return str(address), port, True
    host = _name(found["host"])
    if not policy.is_inward and ("." not in host or host.rpartition(".")[2] in _INSIDE):
        raise _blocked("Relay does not call internal addresses.")
    if policy.own_hosts & {host, f"{host}:{port}"}:
        raise _blocked("it is Relay itself.")
    return host, port, False


def _port(text: str | None, scheme: str, policy: EgressPolicy) -> int:
    if not text:
        return DEFAULT_PORTS[scheme]
    port = int(text) if _PORT.fullmatch(text) else 0
    if port > 65535 or not policy.takes_port(port):
        allowed = ", ".join(map(str, sorted(policy.public_ports)))
        raise _invalid(f"Use one of the allowed ports: {allowed}.")
    return port


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that `host` writes out, or None for a name.

    Refused are the spellings that only some readers take for an address: 127.1, 0x7f000001, 0177.
    """
    if host.startswith("["):
        try:
            return plain_address(host[1:-1])
        except ValueError:
            raise _not_valid("check the IPv6 address between the brackets") from None
    last = host.removesuffix(".").rpartition(".")[2].lower()
    if not host.isascii() or "%" in host or not _NUMERIC_LABEL.fullmatch(last):
        return None
    try:
        return IPv4Address(host)
    except ValueError:
        raise _blocked("write an IPv4 address as four numbers.") from None


def _name(host: str) -> str:
    """The A-label form by IDNA 2008, without the mapping that turns look-alikes into ASCII."""
    try:
        name = idna.encode(host.removesuffix(".").lower(), strict=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        name = ""
    if not name or name.endswith("."):
        raise _not_valid("check the host name")
    return name


def _blocked(advice: str) -> Invalid:
    return Invalid(f"{BLOCKED}; {advice}", field="url", code=BLOCKED_CODE)


def _not_valid(why: str) -> Invalid:
    return _invalid(f"Not a valid https URL: {why}.")


def _invalid(sentence: str) -> Invalid:
    return Invalid(sentence, field="url")
