"""The URL rules of reliability §3.2, as an endpoint is saved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay_web.domain.target import EgressPolicy, check_url, parse, readable_host
from relay_web.errors import Invalid

PUBLIC = EgressPolicy()
WITH_HTTP = EgressPolicy(allow_http=True)
DEVELOPMENT = EgressPolicy(allow_http=True, allow=EgressPolicy.parse_allow("127.0.0.0/8,::1/128"))


def refusal(url: object, policy: EgressPolicy = WITH_HTTP) -> str:
    with pytest.raises(Invalid) as caught:
        check_url(url, policy)
    assert caught.value.field == "url"
    assert caught.value.message.endswith(".")
    return caught.value.message


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://EXAMPLE.com/Path", "https://example.com/Path"),
        ("http://EXAMPLE.com/", "http://example.com/"),
        ("https://example.com:443/", "https://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:8443/a", "https://example.com:8443/a"),
        ("https://example.com:/a", "https://example.com/a"),
        ("https://example.com./a", "https://example.com/a"),
        ("https://example.com?x=1", "https://example.com/?x=1"),
        ("https://example.com/a%20b/%zz", "https://example.com/a%20b/%25zz"),
        ('https://example.com/<a>"|?q[]=1', "https://example.com/%3Ca%3E%22%7C?q%5B%5D=1"),
        ("https://example.com/%0d%0aX:1", "https://example.com/%0d%0aX:1"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
        ("http://172.32.0.1/", "http://172.32.0.1/"),
        ("https://[2606:4700:0::0001]/", "https://[2606:4700::1]/"),
        ("https://[::ffff:8.8.8.8]/", "https://8.8.8.8/"),
    ],
)
def test_a_good_url_is_stored_in_one_form(url: str, canonical: str) -> None:
    """S2: the neighbours of what is refused are allowed. S17: what must be escaped is."""
    assert check_url(url, WITH_HTTP) == canonical
    assert check_url(canonical, WITH_HTTP) == canonical


@pytest.mark.parametrize("url", [None, "", 7, [], ["https://example.com/"]])
def test_a_url_is_text(url: object) -> None:
    assert "Enter the URL" in refusal(url)


@pytest.mark.parametrize(
    "url", ["example.com/x", "example.com:8443/x", "localhost:3000", "//127.0.0.1/", "/x", "http"]
)
def test_a_url_begins_with_its_scheme(url: str) -> None:
    assert "Start with https://" in refusal(url)


def test_http_needs_the_instance_to_allow_it() -> None:
    assert "https only on this instance" in refusal("http://example.com/", PUBLIC)


@pytest.mark.parametrize(
    "scheme",
    [
        "file",
        "ftp",
        "gopher",
        "dict",
        "ldap",
        "data",
        "javascript",
        "jar",
        "unix",
        "ws",
        "HTTP+unix",
    ],
)
def test_other_schemes_are_refused(scheme: str) -> None:
    assert "Not a valid https URL" in refusal(f"{scheme}://example.com/")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:80\\@ok.test/",
        "http://ok.test\\.evil/",
        "http://ok.test@127.0.0.1/",
        "http://127.0.0.1#@ok.test/",
        "http://ok.test;@127.0.0.1/",
        "http://ok.test;x/",
        "http://%31%32%37.0.0.1/",
        "http://127.0.0.1%2f@ok.test/",
        "http:///127.0.0.1",
        "http:127.0.0.1",
        "http:/127.0.0.1",
        "http://127.0.0.1\t/",
        "http://ok.te\nst/",
        " http://ok.test/",
        "http://ok.test/ ",
        "http://exa mple.com/",
        "http://ok.test/\u202etxt",
        "http://ok.test/é",
        "http://ok.\u200btest/",
        "http://[::1",
        "http://::1/",
        "http://[::1]x/",
        "http://[fe80::1%25lo]/",
        "http://a..b/",
        "http://.example.com/",
        "http://example.com../",
        "http://-a.example/",
        f"http://{'a' * 64}.example/",
        f"http://{'a.' * 130}example/",
        "http://xn--.example/",
        "http://xn--a.example/",
        "http://ok.test/#",
        "https://u:p@example.com/",
        "https://@example.com/",
    ],
)
def test_what_parsers_read_differently_is_not_a_valid_url(url: str) -> None:
    assert "Not a valid https URL" in refusal(url)


def test_credentials_belong_in_a_header() -> None:
    message = refusal("https://user:s3cr3tpw@example.com/")
    assert "Use a custom header for credentials" in message
    assert "s3cr3tpw" not in message


@pytest.mark.parametrize(
    "host",
    [
        # S1, S3: plain internal and metadata
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.0.1", "100.64.0.1",
        "0.0.0.0", "255.255.255.255", "169.254.169.254", "169.254.170.2", "100.100.100.200",
        "192.0.0.192", "168.63.129.16", "[fd00:ec2::254]", "metadata.google.internal",
        # S4: number forms
        "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "0", "127.000.000.001",
        "0x", "1.2.3.4.5", "256.1.1.1", "127.0.0.1.",
        # S6: names
        "localhost", "LOCALHOST", "localhost.", "a.localhost", "ip6-localhost", "intranet",
        "host.docker.internal", "kubernetes.default.svc", "printer.local", "router.home.arpa",
        "x.onion", "1.0.0.127.in-addr.arpa",
        # S8: IPv6
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
        "[::ffff:0:7f00:1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
        "[2001::1]", "[fe80::1]", "[fc00::1]", "[fec0::1]", "[ff02::1]", "[100::1]", "[3fff::1]",
        "[5f00::1]", "[0:0:0:0:0:ffff:a9fe:a9fe]",
    ],
)  # fmt: skip
def test_internal_addresses_and_names_are_refused_in_every_spelling(host: str) -> None:
    assert refusal(f"http://{host}/").startswith("This address is not allowed")
    assert refusal(f"http://{host}:8080/x").startswith("This address is not allowed")


@pytest.mark.parametrize(
    "host",
    ["①②⑦.⓪.⓪.①", "127。0。0。1", "\uff4cocalhost", "lo\u00adcalhost", "\uff11\uff12\uff17.0.0.1"],
)
def test_look_alike_digits_and_letters_are_refused(host: str) -> None:
    """S5."""
    assert "Not a valid https URL" in refusal(f"http://{host}/")


@pytest.mark.parametrize(
    "port", ["0", "22", "25", "6379", "27017", "65536", "99999", "-1", "080", "abc", "4 43", "٤٤٣"]
)
def test_only_the_allowed_ports_may_be_named(port: str) -> None:
    message = refusal(f"https://example.com:{port}/", PUBLIC)
    assert "443, 8443" in message or "Not a valid" in message


def test_an_operator_may_add_ports_but_not_the_dangerous_ones() -> None:
    policy = EgressPolicy(extra_ports=frozenset({9443, 25}))
    assert check_url("https://example.com:9443/", policy)
    assert "8443, 9443." in refusal("https://example.com:25/", policy)


def test_2048_characters_are_enough() -> None:
    base = "https://example.com/"
    assert check_url(base + "a" * (2048 - len(base)), PUBLIC)
    assert "2,048" in refusal(base + "a" * (2049 - len(base)), PUBLIC)
    assert "2,048" in refusal("a" * 10_000, PUBLIC)
    assert "2,048" in refusal(base + "<" * 1000, PUBLIC)


def test_development_opens_loopback_and_inner_names_only() -> None:
    for url in ("http://127.0.0.1:5001/", "http://[::1]:5001/", "http://localhost:5001/x"):
        assert check_url(url, DEVELOPMENT) == url
    for url in ("http://10.0.0.1:5001/", "http://169.254.169.254/", "http://0.0.0.0:5001/"):
        assert "not allowed" in refusal(url, DEVELOPMENT)
    assert "allowed ports" in refusal("http://127.0.0.1:22/", DEVELOPMENT)


def test_the_instance_itself_is_no_destination() -> None:
    policy = EgressPolicy(own_hosts=frozenset({"relay.example.com", "other.example:8443"}))
    assert "it is Relay itself" in refusal("https://relay.example.com/api/v1/events", policy)
    assert "it is Relay itself" in refusal("https://RELAY.example.com.:8443/", policy)
    assert "it is Relay itself" in refusal("https://other.example:8443/", policy)
    assert check_url("https://other.example/", policy)


def test_a_target_holds_what_the_request_needs() -> None:
    target = parse("http://[::1]:5001/a?b", DEVELOPMENT)
    assert (target.host, target.port, target.path) == ("::1", 5001, "/a?b")
    assert (target.authority, target.is_address) == ("[::1]:5001", True)


def test_a_name_is_shown_as_people_write_it() -> None:
    assert readable_host("xn--bcher-kva.example") == "bücher.example"
    assert readable_host("example.com") == "example.com"
    assert readable_host("xn--a.example") == "xn--a.example"


@given(st.text(max_size=60) | st.text(max_size=40).map("https://".__add__))
def test_any_text_is_either_refused_or_stored_in_a_form_that_stays(text: str) -> None:
    try:
        url = check_url(text, DEVELOPMENT)
    except Invalid as problem:
        assert problem.field == "url"
    else:
        assert check_url(url, DEVELOPMENT) == url
        assert url.isascii()
        assert url.isprintable()
