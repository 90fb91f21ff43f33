"""The database's clock, read without a round trip: this process's clock plus a measured offset."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pymongo.database import Database

from relay_web.store.faults import database_errors

Doc = dict[str, Any]

#: Seconds between two measurements of the offset.
MEASURE_EVERY: Final = 60.0
#: The database tells its time in whole milliseconds, cut off.
_UNSAID: Final = 0.001


class DatabaseClock:
    """Estimates the primary's wall clock to about a round trip, and never ahead of it."""

    def __init__(self, db: Database[Doc]) -> None:
        self._db = db
        self._offset = 0.0
        self._measured = float("-inf")

    @property
    def offset(self) -> float:
        """Seconds the database is ahead of this process; negative if it is behind."""
        return self._offset

    def measure(self) -> float:
        """Ask the database for its time and keep the offset. Raises `Unavailable`.

        The answer is as unsure as it took long. An offset that it does not contradict stays; else
        the least is taken: what is due now here is then due in the database as well.
        """
        with database_errors():
            before = time.time()
            at = self._db.command("hello", codec_options=self._db.codec_options)["localTime"]
            after = time.time()
        least, most = at.timestamp() - after, at.timestamp() + _UNSAID - before
        if self._measured < 0 or not least <= self._offset <= most:
            self._offset = least
        self._measured = time.monotonic()
        return self._offset

    def now(self) -> datetime:
        """The database's time in UTC, whole milliseconds; measured again once a minute."""
        if time.monotonic() - self._measured > MEASURE_EVERY:
            self.measure()
        at = datetime.now(UTC) + timedelta(seconds=self._offset)
        return at.replace(microsecond=at.microsecond // 1000 * 1000)
