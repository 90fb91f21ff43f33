"""Times as people read them: durations, distances, and clock times in the reader's own zone."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

#: Largest unit first: (seconds, word after one, word after many).
_UNITS = ((86400, "day", "days"), (3600, "h", "h"), (60, "min", "min"), (1, "s", "s"))


def duration(seconds: float) -> str:
    """`12 ms`, `1.4 s`, `41 s`, `5 min 12 s`, `2 h 5 min`, `3 days 4 h`: at most two units."""
    if seconds < 0:
        return "0 s"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    for place, (size, _, _) in enumerate(_UNITS):
        if whole >= size:
            pair = (_count(whole // size, place), _count(_next(whole % size, place), place + 1))
            return " ".join(part for part in pair if part)
    return "0 s"


def _next(rest: int, place: int) -> int:
    return rest // _UNITS[place + 1][0] if place + 1 < len(_UNITS) else 0


def _count(number: int, place: int) -> str:
    if not number:
        return ""
    _, one, many = _UNITS[place]
    return f"{number} {one if number == 1 else many}"


def rough(seconds: float) -> str:
    """One unit only, for lists: `8 s`, `4 min`, `3 h`, `2 days`."""
    whole = int(seconds)
    for place, (size, _, _) in enumerate(_UNITS):
        if whole >= size:
            return _count(whole // size, place)
    return "0 s"


def distance(at: datetime, now: datetime) -> str:
    """`4 min ago`, `in 4 min`, `just now`."""
    seconds = (now - at).total_seconds()
    if abs(seconds) < 1:
        return "just now"
    return f"{rough(seconds)} ago" if seconds > 0 else f"in {rough(-seconds)}"


def zone_named(name: str | None) -> tzinfo:
    """The named IANA zone; UTC for none, an unknown one, or anything that is not a zone's name."""
    if not name or len(name) > 64:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def clock(at: datetime, zone: tzinfo) -> str:
    """`14:02:11`."""
    return at.astimezone(zone).strftime("%H:%M:%S")


def clock_millis(at: datetime, zone: tzinfo) -> str:
    """`14:02:11.043`."""
    return f"{clock(at, zone)}.{at.microsecond // 1000:03d}"


def day(at: datetime, zone: tzinfo) -> str:
    """`1 Dec 2026`."""
    local = at.astimezone(zone)
    return f"{local.day} {local:%b %Y}"


def moment(at: datetime, zone: tzinfo) -> str:
    """`1 Dec 2026, 14:02:11.043 UTC`: nothing left to guess."""
    local = at.astimezone(zone)
    return f"{day(at, zone)}, {clock_millis(at, zone)} {local.tzname() or 'UTC'}"


def stamp(at: datetime) -> str:
    """The `datetime` attribute: ISO 8601 in UTC with milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
