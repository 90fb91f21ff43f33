"""What a deliveries list is narrowed by, as it stands in the URL. A value that makes no sense is
left out with a note, never an error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from werkzeug.datastructures import MultiDict

from relay_web.domain.causes import Cause
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


def read(args: MultiDict[str, str], *, now: datetime, zone: tzinfo) -> Asked:
    """The filters in a URL: state (several), endpoint, type, cause, job, find, period, since, until."""
    found, query, ignored = Filters(), [], []
    words = []
    for text in args.getlist("state"):
        if text in Word.__members__.values():
            words.append(Word(text))
            query.append(("state", text))
        elif text:
            ignored.append(f"state “{text[:40]}”")
    found = replace(found, words=frozenset(words))
    for key, check in (("endpoint", _id), ("type", check_type), ("cause", _cause), ("job", _job)):
        if text := args.get(key, "").strip():
            try:
                found = replace(found, **{key: check(text)})  # type: ignore[arg-type]  # by key
                query.append((key, text))
            except Invalid:
                ignored.append(f"{key} “{text[:40]}”")
    if text := args.get("find", "").strip()[:LONGEST_FIND]:
        found = replace(found, **_begins(text))  # type: ignore[arg-type]  # by key
        query.append(("find", text))
    if (period := args.get("period", "")) in PERIODS:
        found = replace(found, since=now - PERIODS[period][1])
        query.append(("period", period))
    for key in ("since", "until"):
        if text := args.get(key, "").strip():
            at = moment(text, zone)
            if at is None:
                ignored.append(f"{key} “{text[:40]}”")
            else:
                found = replace(found, **{key: at})  # type: ignore[arg-type]  # by key
                query.append((key, text))
    return Asked(found, tuple(sorted(set(query))), tuple(ignored))


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


def _cause(text: str) -> str:
    if text not in Cause.__members__.values():
        raise Invalid
    return text


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
        case "job":
            return "sent again by one bulk job"
        case "cause":
            return f"cause: {cause_name(value)}"
        case _:
            return f"{key}: {value}"
