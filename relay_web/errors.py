"""Everything Relay raises on purpose. The class has the HTTP status; the message says what to do.

RelayError
├── BadSetting        a setting that cannot work (exit code 78)
├── CannotRun         a command that cannot do its job here (exit code 1)
├── BadRequest        400  the request cannot be read
├── Unauthorized      401  no valid key or sign-in
├── Forbidden         403  known, but not allowed to
├── NotFound          404  the id names nothing this team may see
├── Conflict          409  the record moved on, or forbids it now
├── Gone              410  it was here and is kept no longer
├── TooLarge          413
├── Unsupported       415
├── Invalid           422  one field holds something Relay will not store
├── TooMany           429
├── LoopDetected      508  a Relay delivery was sent back to Relay
└── Unavailable       503  the database did not confirm; nothing is promised
"""


class RelayError(Exception):
    """Relay could not do that."""

    status = 500
    code = "error"

    def __init__(
        self,
        message: str | None = None,
        *,
        field: str | None = None,
        code: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        self.message = message or (self.__doc__ or "").strip()
        self.field = field
        self.retry_after = retry_after
        if code is not None:
            self.code = code
        super().__init__(self.message)


class BadSetting(RelayError):
    """A setting cannot work; correct it and start again."""

    code = "bad_setting"


class CannotRun(RelayError):
    """This command cannot do its job here."""

    code = "cannot_run"


class BadRequest(RelayError):
    """The request cannot be read."""

    status = 400
    code = "bad_request"


class Unauthorized(RelayError):
    """Send your API key as a Bearer token."""

    status = 401
    code = "unauthorized"


class Forbidden(RelayError):
    """You may not do that in this team."""

    status = 403
    code = "forbidden"


class NotFound(RelayError):
    """Not in this team, or deleted."""

    status = 404
    code = "not_found"


class Conflict(RelayError):
    """That changed while you were looking at it; reload and try again."""

    status = 409
    code = "conflict"


class Gone(RelayError):
    """That is kept no longer."""

    status = 410
    code = "gone"


class TooLarge(RelayError):
    """The request is larger than Relay takes."""

    status = 413
    code = "too_large"


class Unsupported(RelayError):
    """Send JSON as application/json in UTF-8."""

    status = 415
    code = "unsupported_media_type"


class Invalid(RelayError):
    """One field holds something Relay will not store."""

    status = 422
    code = "invalid"


class TooMany(RelayError):
    """Too many requests; wait and try again."""

    status = 429
    code = "too_many_requests"


class LoopDetected(RelayError):
    """This request is itself a Relay delivery; publishing it again would loop."""

    status = 508
    code = "loop_detected"


class Unavailable(RelayError):
    """The database is away. Nothing is promised; try again."""

    status = 503
    code = "unavailable"
