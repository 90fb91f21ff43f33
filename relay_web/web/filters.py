"""What a deliveries list is narrowed by, as it stands in the URL. A value that makes no sense is
left out with a note, never an error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final

from werkzeug.datastructures import MultiDict

from relay_web.domain.causes import Cause, CodeClass
from relay_web.domain.delivery import Word
from relay_web.domain.event_type import check_type
from relay_web.errors import Invalid
from relay_web.store.filtering import Filters
from relay_web.web.words import cause_name

#: Time presets: name in the URL, words, length.
PERIODS: Final[Mapping[str, tuple[str, timedelta]]] = {
    "1h": ("last hour", timedelta(hours=1)),
    "24h": ("last 24 hours", timedelta(hours=24)),
    "7d": ("last 7 days", timedelta(days=7)),
    "30d": ("last 30 days", timedelta(days=30)),
}
#: Characters of a search that are looked for.
LONGEST_FIND: Final = 100
#: Classes of answers: name in the URL, words.
CODES: Final[Mapping[str, str]] = {
    "2xx": "2xx, delivered",
    "3xx": "3xx, redirects",
    "4xx": "4xx, refused",
    "5xx": "5xx, server errors",
    "none": "no answer",
}
#: Facts that a delivery has or has not, as the store's filters call them: words.
MARKS: Final[Mapping[str, str]] = {
    "lost": "a lease was lost or fenced off",
    "resent": "sent again by hand or a job",
}
#: Views of the list that people come back to: words, query.
VIEWS: Final[Sequence[tuple[str, tuple[tuple[str, str], ...]]]] = (
    ("All", ()),
    ("Undelivered", (("state", "cancelled"), ("state", "failed"), ("state", "held"))),
    ("Waiting", (("state", "held"), ("state", "queued"), ("state", "retrying"))),
    ("Lease lost or fenced", (("lost", "1"),)),
)


@dataclass(frozen=True, slots=True)
class Chip:
    """One active filter: what it says, and the query without it."""

    text: str
    query: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A reading of the URL: the store's filters, the canonical query, and what was left out."""

    filters: Filters
    query: tuple[tuple[str, str], ...]
    ignored: tuple[str, ...]

    def chips(self, endpoints: Mapping[str, str]) -> list[Chip]:
        """Every active filter, removable; `endpoints` are names by id."""
        return [
            Chip(_said(pair, endpoints), tuple(other for other in self.query if other != pair))
            for pair in self.query
        ]

    def value(self, key: str) -> str:
        return next((value for name, value in self.query if name == key), "")

    @property
    def narrow(self) -> bool:
        """Whether a filter is on that the page keeps under "More"."""
        return any(key in ("code", "since", "until", *MARKS) for key, _ in self.query)


def read(args: MultiDict[str, str], *, now: datetime, zone: tzinfo) -> Asked:
    """The filters in a URL; `state` may be there several times, any other once."""
    found: dict[str, Any] = {}
    query: list[tuple[str, str]] = []
    ignored: list[str] = []
    checks = {
        "endpoint": _id,
        "type": check_type,
        "cause": Cause,
        "code": CodeClass,
        "job": _job,
        "since": lambda text: _moment(text, zone),
        "until": lambda text: _moment(text, zone),
        **dict.fromkeys(MARKS, _yes),
    }
    if (period := args.get("period", "")) in PERIODS:
        found["since"] = now - PERIODS[period][1]
        query.append(("period", period))
    for key, text in args.items(multi=True):
        text = text.strip()
        if not text or (key != "state" and key not in checks):
            continue
        try:
            if key == "state":
                found["words"] = found.get("words", frozenset()) | {Word(text)}
            else:
                found[key] = checks[key](text)
        except (Invalid, ValueError):
            ignored.append(f"{key} “{text[:40]}”")
        else:
            query.append((key, text))
    if text := args.get("find", "").strip()[:LONGEST_FIND]:
        found |= _begins(text)
        query.append(("find", text))
    return Asked(Filters(**found), tuple(sorted(set(query))), tuple(ignored))


def _id(text: str) -> str:
    if not text.startswith("ep_") or not text[3:].isalnum() or len(text) > 40:
        raise Invalid
    return text


def _begins(text: str) -> dict[str, str]:
    """What is typed is the beginning of a delivery's or its event's id, or of a type."""
    head, _, rest = text.partition("_")
    return {"id_prefix": f"dlv_{rest}"} if head in ("dlv", "msg") else {"type_prefix": text}


def with_ids(found: Filters, ids: Sequence[str]) -> Filters:
    """Only the deliveries of these ids, where there are any."""
    return replace(found, ids=tuple(ids))


def _job(text: str) -> str:
    if not text.startswith("job_") or not text[4:].isalnum() or len(text) > 40:
        raise Invalid
    return text


def _yes(text: str) -> bool:
    if text != "1":
        raise Invalid
    return True


def _moment(text: str, zone: tzinfo) -> datetime:
    at = moment(text, zone)
    if at is None:
        raise Invalid
    return at


def moment(text: str, zone: tzinfo) -> datetime | None:
    """A date and time as `<input type="datetime-local">` gives it, in the reader's zone."""
    try:
        at = datetime.fromisoformat(text[:40])
        return (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):  # the first and last days of the calendar have no UTC time
        return None


def _said(pair: tuple[str, str], endpoints: Mapping[str, str]) -> str:
    key, value = pair
    match key:
        case "endpoint":
            return f"endpoint: {endpoints.get(value, value)}"
        case "period":
            return PERIODS[value][0]
        case "find":
            return f"begins with {value}"
        case "code":
            return f"answer: {CODES[value]}"
        case "lost" | "resent":
            return MARKS[key]
        case "since" | "until":
            return f"{'from' if key == 'since' else 'before'} {value.replace('T', ' ')}"
        case "job":
            return "sent again by one bulk job"
        case "cause":
            return f"cause: {cause_name(value)}"
        case _:
            return f"{key}: {value}"
