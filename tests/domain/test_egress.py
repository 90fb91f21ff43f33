"""The address policy of reliability §3.3, range by range."""

from ipaddress import IPv6Address, IPv6Network

import pytest

from relay_web.domain.addresses import (
    GLOBAL_IPV6,
    METADATA,
    REFUSED_IPV4,
    REFUSED_IPV6,
    IPAddress,
    IPNetwork,
)
from relay_web.domain.egress import NEVER_PORTS, AllowRule, EgressPolicy, address_refusal
from relay_web.errors import BadSetting

PUBLIC = EgressPolicy()
TABLE = [network for network, _ in (*REFUSED_IPV4, *REFUSED_IPV6)]


def allowed(ip: object, port: int = 443, policy: EgressPolicy = PUBLIC) -> bool:
    return address_refusal(str(ip), port, policy) is None


def neighbours(network: IPNetwork) -> list[IPAddress]:
    """The addresses just before and just after a range, where there are any."""
    ends = int(network.network_address) - 1, int(network.broadcast_address) + 1
    kind = type(network.network_address)
    return [kind(at) for at in ends if 0 <= at < 2**network.max_prefixlen]


@pytest.mark.parametrize("network", TABLE, ids=str)
def test_each_range_is_refused_from_its_first_to_its_last_address(network: IPNetwork) -> None:
    assert not allowed(network[0])
    assert not allowed(network[-1])
    assert not allowed(network[network.num_addresses // 2])


@pytest.mark.parametrize("network", TABLE, ids=str)
def test_the_neighbours_of_each_range_are_open_unless_another_range_holds_them(
    network: IPNetwork,
) -> None:
    for address in neighbours(network):
        inside = any(address in other for other in TABLE if other.version == address.version)
        outside = isinstance(address, IPv6Address) and address not in GLOBAL_IPV6
        assert allowed(address) == (not inside and not outside), address


def test_ipv6_is_closed_outside_global_unicast() -> None:
    for address in neighbours(GLOBAL_IPV6):
        assert not allowed(address)
    assert allowed("2606:4700::1")


@pytest.mark.parametrize(
    "text", ["2620:4f:8000::/48", "2001:db8::/32", "2001::/23", "2002::/16", "3fff::/20"]
)
def test_the_holes_in_global_unicast_are_the_registry_s(text: str) -> None:
    assert IPv6Network(text) in TABLE


@pytest.mark.parametrize(
    "ip",
    [
        "172.32.0.1",
        "100.128.0.1",
        "100.63.255.254",
        "11.0.0.1",
        "169.253.1.1",
        "192.0.3.1",
        "8.8.8.8",
    ],
)
def test_public_neighbours_are_open(ip: str) -> None:
    assert allowed(ip)


@pytest.mark.parametrize("address", sorted(METADATA, key=str), ids=str)
def test_metadata_needs_a_rule_for_that_very_address(address: IPAddress) -> None:
    wide = "100.0.0.0/8,168.0.0.0/8,169.254.0.0/16,192.0.0.0/8,fd00::/8"
    exact = f"{address}/{address.max_prefixlen}"
    assert not allowed(address)
    assert not allowed(address, 80, EgressPolicy(allow=EgressPolicy.parse_allow(wide)))
    assert allowed(address, 80, EgressPolicy(allow=EgressPolicy.parse_allow(exact)))


@pytest.mark.parametrize(
    "ip",
    ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "fe80::1%eth0", "nonsense", ""],
)
def test_wrapped_scoped_and_unreadable_addresses_are_refused(ip: str) -> None:
    assert not allowed(ip)


def test_a_wrapped_public_address_is_judged_as_what_it_is() -> None:
    assert allowed("::ffff:8.8.8.8")


def test_public_addresses_are_called_on_public_ports_only() -> None:
    policy = EgressPolicy(allow=EgressPolicy.parse_allow("10.0.0.0/8"))
    assert allowed("10.0.0.1", 5000, policy)
    assert not allowed("8.8.8.8", 5000, policy)
    assert not allowed("8.8.8.8", 80, policy)
    assert allowed("8.8.8.8", 80, EgressPolicy(allow_http=True))


@pytest.mark.parametrize("port", sorted(NEVER_PORTS))
def test_no_rule_opens_a_dangerous_port(port: int) -> None:
    policy = EgressPolicy(
        allow=EgressPolicy.parse_allow("10.0.0.0/8"), extra_ports=frozenset({port})
    )
    assert not allowed("10.0.0.1", port, policy)
    assert not allowed("8.8.8.8", port, policy)


def test_a_rule_with_a_port_opens_that_port_alone() -> None:
    policy = EgressPolicy(allow=EgressPolicy.parse_allow("10.0.0.0/8:8080"))
    assert allowed("10.1.2.3", 8080, policy)
    assert not allowed("10.1.2.3", 443, policy)


def test_this_machine_s_own_address_is_refused_unless_opened_by_hand() -> None:
    own = frozenset({"8.8.4.4", "2606:4700::1"})
    assert not allowed("8.8.4.4", 443, EgressPolicy(own_addresses=own))
    assert not allowed("2606:4700:0::1", 443, EgressPolicy(own_addresses=own))
    opened = EgressPolicy.parse_allow("8.8.4.4/32")
    assert allowed("8.8.4.4", 443, EgressPolicy(own_addresses=own, allow=opened))


def test_every_refusal_reads_the_same() -> None:
    texts = {
        address_refusal(ip, port, PUBLIC)
        for ip, port in [("127.0.0.1", 443), ("8.8.8.8", 22), ("::1", 80), ("x", 443)]
    }
    assert len(texts) == 1


def test_allow_rules_are_read_with_and_without_ports() -> None:
    rules = EgressPolicy.parse_allow(" 10.0.0.0/8 , 127.0.0.1:5000,::1/128:8080,fd00::/8,")
    assert rules == (
        AllowRule(_network("10.0.0.0/8")),
        AllowRule(_network("127.0.0.1/32"), 5000),
        AllowRule(_network("::1/128"), 8080),
        AllowRule(_network("fd00::/8")),
    )
    assert EgressPolicy.parse_allow("") == ()


@pytest.mark.parametrize(
    "text",
    ["x", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/8:x", "10.0.0.0/8:70000", "10.0.0.0/8:22",
     "localhost", "10.0.0.0/8;::1/128", "1.2.3/8"],
)  # fmt: skip
def test_a_rule_that_cannot_be_read_says_so(text: str) -> None:
    with pytest.raises(BadSetting, match="RELAY_EGRESS_ALLOW"):
        EgressPolicy.parse_allow(text)


def _network(text: str) -> IPNetwork:
    return EgressPolicy.parse_allow(text)[0].network
