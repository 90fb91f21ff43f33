"""What may stand for a person or a team."""

import pytest

from relay_web.domain.people import (
    check_email,
    check_password,
    check_team_name,
    hash_password,
    password_matches,
    slug_of,
)
from relay_web.domain.roles import NEEDED_ROLE, Deed, Role, role_may, scope_for
from relay_web.errors import Invalid


@pytest.mark.parametrize(
    "text",
    ["", "a", "a@b c", "a" * 246 + "@example.com", "a@b@example.com", "a@example.com\r\nBcc: x@y.z",
     "a@example.com\0", "@example.com", "a@", "a@localhost"],
)  # fmt: skip
def test_what_is_no_address_is_refused_in_one_sentence(text: str) -> None:
    """B64."""
    with pytest.raises(Invalid, match="Enter a valid e-mail address"):
        check_email(text)


def test_addresses_that_differ_only_in_case_are_one() -> None:
    assert check_email(" Ana@Example.COM") == check_email("ana@example.com") == "ana@example.com"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("elevenchars", "12 to 128"),
        ("x" * 129, "12 to 128"),
        ("password1234", "first passwords"),
        ("Qwerty!!!!!!2026", "first passwords"),
        ("123456789012", "first passwords"),
        ("abababababab", "first passwords"),
        (" " * 12, "Spaces alone"),
        ("a long\0walk home", "control characters"),
    ],
)
def test_a_weak_password_is_refused_with_the_rule(text: str, said: str) -> None:
    """B65."""
    with pytest.raises(Invalid, match=said):
        check_password(text)


@pytest.mark.parametrize("text", ["a long walk home", "пароль-длинный", "x1" + " y2" * 20])
def test_a_long_one_needs_no_special_characters(text: str) -> None:
    assert check_password(text) == text


@pytest.mark.parametrize("text", ["", "a", " a ", "   ", "n" * 101, "a\nb", "a\u202eb"])
def test_a_team_name_is_one_visible_line(text: str) -> None:
    """B75."""
    with pytest.raises(Invalid):
        check_team_name(text)


@pytest.mark.parametrize(
    ("name", "slug"),
    [("Ana & Co", "ana-co"), ("  Ünïcode ", "unicode"), ("注文", "team"), ("x" * 60, "x" * 40)],
)
def test_a_name_suggests_a_slug(name: str, slug: str) -> None:
    assert slug_of(name) == slug


def test_nobody_has_a_password_that_matches() -> None:
    stored = hash_password("a long walk home")
    assert password_matches(stored, "a long walk home")
    assert not password_matches(stored, "another long walk")
    assert not password_matches(None, "nobody has this password")


def test_a_higher_role_may_all_that_a_lower_one_may() -> None:
    roles = list(Role)
    for deed in Deed:
        allowed = [role_may(role, deed) for role in roles]
        assert allowed == sorted(allowed), deed
        assert role_may(Role.OWNER, deed)
    assert set(NEEDED_ROLE) == set(Deed)
    assert all(scope_for(deed) for deed in Deed)
