"""What may stand for a person or a team: e-mail addresses, passwords, names, slugs."""

import re
import unicodedata
from typing import Final

from email_validator import EmailNotValidError, validate_email
from werkzeug.security import check_password_hash, generate_password_hash

from relay_web.domain.limits import check_line
from relay_web.errors import Invalid

PASSWORD: Final = (12, 128)
TEAM_NAME: Final = (2, 100)
EMAIL_LENGTH: Final = 254

#: Long enough by count and still among the first guesses: a word or two, then digits or marks.
_GUESSED_FIRST: Final = re.compile(
    r"(?:password|passwort|passw0rd|p@ssw0rd|qwerty|qwertyuiop|letmein|welcome|iloveyou|football"
    r"|baseball|princess|sunshine|superman|dragon|monkey|admin|administrator|changeme|abc|test"
    r"|correcthorsebatterystaple|relay|webhook)+[\W\d_]*",
    re.IGNORECASE,
)
_DIGIT_RUNS: Final = "0123456789012345678998765432109876543210"
_NOT_SLUG: Final = re.compile(r"[^a-z0-9]+")
#: Compared with when no such user exists, so that both cases take the same time.
_NOBODY: Final = generate_password_hash("nobody has this password", method="scrypt")


def check_email(text: str, *, field: str = "email") -> str:
    """The address as it is stored and compared: validated and case-folded (reliability B64)."""
    try:
        found = validate_email(text.strip(" ")[: EMAIL_LENGTH + 1], check_deliverability=False)
    except EmailNotValidError:
        raise Invalid("Enter a valid e-mail address.", field=field) from None
    return found.normalized.casefold()


def check_password(text: str, *, field: str = "password") -> str:
    """`text` if it may be a password; raises `Invalid` with the rule (reliability B65)."""
    shortest, longest = PASSWORD
    if not shortest <= len(text) <= longest:
        raise Invalid(f"Use {shortest} to {longest} characters.", field=field)
    if not text.strip():
        raise Invalid("Spaces alone are no password.", field=field)
    if any(unicodedata.category(c) in {"Cc", "Cs"} for c in text):
        raise Invalid("Leave out control characters.", field=field)
    if _GUESSED_FIRST.fullmatch(text) or text in _DIGIT_RUNS or len(set(text)) < 4:
        raise Invalid(
            "This is among the first passwords anyone tries; choose another.", field=field
        )
    return text


def hash_password(password: str) -> str:
    """Scrypt, as werkzeug tunes it: about 0.1 s of one core, so keep it off the gevent hub."""
    return generate_password_hash(password, method="scrypt")


def password_matches(stored_hash: str | None, password: str) -> bool:
    """Whether `password` is the right one; takes as long for no user (None) as for a wrong one."""
    return check_password_hash(stored_hash or _NOBODY, password) and stored_hash is not None


def check_team_name(text: str, *, field: str = "team") -> str:
    """A team's name, trimmed; raises `Invalid` (reliability B75)."""
    shortest, longest = TEAM_NAME
    name = check_line(text, field=field, longest=longest)
    if len(name) < shortest:
        raise Invalid(f"Use {shortest} to {longest} characters.", field=field)
    return name


def slug_of(name: str) -> str:
    """The part of the URL that a team's name suggests: `Ana & Co` gives `ana-co`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return _NOT_SLUG.sub("-", plain).strip("-")[:40].strip("-") or "team"
