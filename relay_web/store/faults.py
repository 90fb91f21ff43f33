"""Driver errors stop here: above the store there is `Unavailable`, and nothing of pymongo."""

from collections.abc import Iterator
from contextlib import contextmanager

from pymongo.errors import (
    AutoReconnect,
    ExecutionTimeout,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WriteConcernError,
    WTimeoutError,
)

from relay_web.errors import Unavailable

#: Seconds a caller is asked to wait before it tries again.
RETRY_AFTER = 5

#: Server codes that mean "no primary right now" or "not confirmed in time", whatever their class:
#: the state changes of a replica set and a write concern that could not be met.
_AWAY_CODES = frozenset({6, 7, 64, 89, 91, 100, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436})


def is_away(error: PyMongoError) -> bool:
    """Whether the database did not answer or not confirm; the write may have been made."""
    if isinstance(error, AutoReconnect | NetworkTimeout | ServerSelectionTimeoutError):
        return True
    if isinstance(error, WTimeoutError | WriteConcernError | ExecutionTimeout) or error.timeout:
        return True
    return isinstance(error, OperationFailure) and error.code in _AWAY_CODES


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn an absent or unsure database into `Unavailable`; let programming errors through."""
    try:
        yield
    except PyMongoError as error:
        if is_away(error):
            raise Unavailable(retry_after=RETRY_AFTER) from error
        raise
