"""A span of time as a query asks for it."""

from datetime import datetime, timedelta
from typing import Final

from relay_web.errors import Invalid
from relay_web.web.schemas import parse_time

LONGEST: Final = timedelta(days=31)


def time_range(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """Both ends as times; raises `Invalid` where they cross or are too far apart (B80)."""
    start = parse_time(since, field="since") if since is not None else None
    end = parse_time(until, field="until") if until is not None else None
    if start is not None and end is not None:
        if start > end:
            raise Invalid("`since` must be before `until`.", field="since")
        if end - start > LONGEST:
            raise Invalid(f"Ask for at most {LONGEST.days} days at once.", field="since")
    return start, end
