"""Every setting of Relay, read from the environment once, by the entry modules.

Each variable has one line here. A value that cannot work is refused at start, all of them in one
error, each with a sentence that names the variable and says what to set. An empty variable counts
as unset. Below the entry modules and `create_app` nobody sees this class: they get plain values.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, EnvSettingsSource, NoDecode, SettingsConfigDict

from relay_web import readings
from relay_web.domain.target import EgressPolicy
from relay_web.engine.local_addresses import local_addresses
from relay_web.errors import BadSetting
from relay_web.local_keys import local_key

#: Where platforms put the database's address, the documented name first (ecosystem §2.1).
URI_NAMES: Final = (
    "MONGODB_URI",
    "MONGO_URL",
    "MONGODB_URL",
    "SCALINGO_MONGO_URL",
    "ORMONGO_URL",
    "MONGOHQ_URL",
    "DATABASE_URL",
)
DEFAULT_DATA_DIR: Final = ".relay"
#: What development mode adds to the environment where it says nothing.
_DEVELOPMENT: Final = {
    "RELAY_ALLOW_HTTP": "1",
    "RELAY_EGRESS_ALLOW": "127.0.0.0/8,::1/128",
    "LOG_FORMAT": "console",
}

Flag = Annotated[bool, BeforeValidator(readings.flag)]
Seconds = Annotated[float, BeforeValidator(readings.seconds(0.1, 3600))]
Key = Annotated[str, BeforeValidator(readings.key)]


class _Given(EnvSettingsSource):
    """The environment handed to `load`, rather than the process's own."""

    def __init__(self, settings: type[BaseSettings], environment: Mapping[str, str]) -> None:
        self._environment = environment
        super().__init__(settings)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name: value for name, value in self._environment.items() if value.strip()}


class Settings(BaseSettings):
    """What the environment says. Durations are seconds. Secrets stay out of `repr`."""

    model_config = SettingsConfigDict(
        frozen=True, case_sensitive=True, extra="ignore", validate_default=True
    )

    #: Set on Heroku only; there the disk is wiped daily, so nothing may be kept on it.
    dyno: str | None = Field(None, validation_alias="DYNO")
    data_dir: Path = Field(Path(DEFAULT_DATA_DIR), validation_alias="RELAY_DATA_DIR")
    #: No SECRET_KEY and no database given: a person's own machine.
    development: bool = Field(False, validation_alias="development")

    #: None means the embedded MongoDB of `data_dir`.
    mongodb_uri: Annotated[str | None, BeforeValidator(readings.mongodb_uri)] = Field(
        None, validation_alias="MONGODB_URI", repr=False
    )
    db_timeout: Seconds = Field(5.0, validation_alias="RELAY_DB_TIMEOUT")

    secret_key: Key = Field(validation_alias="SECRET_KEY", repr=False)
    #: Encrypt signing secrets; the newest first, the others only decrypt.
    secrets_keys: Annotated[tuple[str, ...], NoDecode, BeforeValidator(readings.keys)] = Field(
        validation_alias="RELAY_SECRETS_KEY", repr=False
    )

    host: str | None = Field(None, validation_alias="HOST")
    port: Annotated[int, BeforeValidator(readings.whole(1, 65535))] = Field(
        5000, validation_alias="PORT"
    )
    web_concurrency: Annotated[int, BeforeValidator(readings.whole(1, 64))] = Field(
        2, validation_alias="WEB_CONCURRENCY"
    )
    public_url: Annotated[str | None, BeforeValidator(readings.public_url)] = Field(
        None, validation_alias="RELAY_PUBLIC_URL"
    )
    #: How many proxies in front of the web process may be believed; a platform's router is one.
    trusted_proxies: Annotated[int, BeforeValidator(readings.whole(0, 5))] = Field(
        0, validation_alias="RELAY_TRUSTED_PROXIES"
    )

    #: Sends in flight in one worker process.
    concurrency: Annotated[int, BeforeValidator(readings.whole(1, 2000))] = Field(
        100, validation_alias="RELAY_CONCURRENCY"
    )
    #: The whole exchange, from the name lookup to the last byte of the answer.
    send_deadline: Seconds = Field(15.0, validation_alias="RELAY_SEND_DEADLINE")
    lease: Seconds = Field(30.0, validation_alias="RELAY_LEASE")
    #: Delays between tries.
    retry_schedule: Annotated[tuple[float, ...], NoDecode, BeforeValidator(readings.schedule)] = (
        Field(readings.schedule("5s,5m,30m,2h,5h,10h,10h"), validation_alias="RELAY_RETRY_SCHEDULE")
    )
    retention_days: Annotated[int, BeforeValidator(readings.whole(1, 3650))] = Field(
        30, validation_alias="RELAY_RETENTION_DAYS"
    )

    egress_allow: Annotated[str, BeforeValidator(readings.egress)] = Field(
        "", validation_alias="RELAY_EGRESS_ALLOW"
    )
    allow_http: Flag = Field(False, validation_alias="RELAY_ALLOW_HTTP")

    signup: Annotated[
        Literal["open", "invite"], BeforeValidator(readings.one_of("open", "invite"))
    ] = Field("invite", validation_alias="RELAY_SIGNUP")
    setup_token: str | None = Field(None, validation_alias="RELAY_SETUP_TOKEN", repr=False)
    smtp_url: Annotated[str | None, BeforeValidator(readings.smtp_url)] = Field(
        None, validation_alias="SMTP_URL", repr=False
    )
    metrics_token: str | None = Field(None, validation_alias="RELAY_METRICS_TOKEN", repr=False)
    log_level: Annotated[str, BeforeValidator(readings.log_level)] = Field(
        "INFO", validation_alias="LOG_LEVEL"
    )
    log_format: Annotated[
        Literal["logfmt", "json", "console"],
        BeforeValidator(readings.one_of("logfmt", "json", "console")),
    ] = Field("logfmt", validation_alias="LOG_FORMAT")

    @field_validator("mongodb_uri")
    @classmethod
    def _no_database_on_a_wiped_disk(cls, uri: str | None, info: ValidationInfo) -> str | None:
        if uri is None and info.data.get("dyno"):
            raise ValueError(
                "must be set here; attach a MongoDB add-on or paste its mongodb:// URI."
            )
        return uri

    @field_validator("lease")
    @classmethod
    def _a_send_ends_within_its_lease(cls, lease: float, info: ValidationInfo) -> float:
        # A send that can outlive its lease is sent twice on a healthy day.
        deadline, db_timeout = info.data.get("send_deadline"), info.data.get("db_timeout")
        if deadline is None or db_timeout is None:
            return lease
        shortest = deadline + 2 * db_timeout + 5
        if lease < shortest:
            raise ValueError(
                f"must be at least {shortest:g} s (RELAY_SEND_DEADLINE {deadline:g} s + "
                f"2 × RELAY_DB_TIMEOUT {db_timeout:g} s + 5 s), not {lease:g} s."
            )
        return lease

    @classmethod
    def load(
        cls, environment: Mapping[str, str] | None = None, *, data_dir: Path | None = None
    ) -> Self:
        """Read `environment`, the process's own by default; `data_dir` beats RELAY_DATA_DIR.

        Raises BadSetting with one line for each variable that cannot work.
        """
        given = _completed(os.environ if environment is None else environment, data_dir)
        try:
            # A documented parameter of BaseSettings that the synthesised signature leaves out.
            return cls(_build_sources=((_Given(cls, given),), {}))  # type: ignore[call-arg]
        except ValidationError as problems:
            raise BadSetting("\n".join(_sentences(problems))) from None

    def egress_policy(self) -> EgressPolicy:
        """Which addresses a delivery may go to; never this instance itself."""
        return EgressPolicy(
            allow_http=self.allow_http,
            allow=EgressPolicy.parse_allow(self.egress_allow),
            own_addresses=local_addresses(),
            own_hosts=frozenset({urlsplit(self.public_url).netloc} if self.public_url else ()),
        )


def _completed(environment: Mapping[str, str], data_dir: Path | None) -> dict[str, str]:
    """`environment` with the database under one name, and what an own machine needs filled in."""
    given = {name: value for name, value in environment.items() if value.strip()}
    folder = data_dir or Path(given.get("RELAY_DATA_DIR", DEFAULT_DATA_DIR))
    given["RELAY_DATA_DIR"] = str(folder)
    given.pop("development", None)
    addresses = (given[name] for name in URI_NAMES if name in given)
    uri = next((text for text in addresses if readings.is_mongodb(text)), None)
    if uri is not None:
        given["MONGODB_URI"] = uri
    if "DYNO" in given:
        given.setdefault("RELAY_TRUSTED_PROXIES", "1")  # the platform's router
    if "MONGODB_URI" in given or "DYNO" in given:
        return given
    if "SECRET_KEY" not in given:
        given = {**_DEVELOPMENT, **given, "development": "1"}
    # The keys live beside the data that they protect, so they last exactly as long.
    for name in ("SECRET_KEY", "RELAY_SECRETS_KEY"):
        if name not in given:
            given[name] = local_key(folder, name.lower())
    return given


def _sentences(problems: ValidationError) -> list[str]:
    variables = {name: field.validation_alias for name, field in Settings.model_fields.items()}
    found = []
    for problem in problems.errors(include_url=False, include_input=False):
        # A default that cannot work is reported under the field's own name.
        name = variables.get(str(problem["loc"][0]), problem["loc"][0])
        if problem["type"] == "missing":
            said = "must be set to a long random text, such as `openssl rand -hex 32` prints."
        else:
            said = problem["msg"].removeprefix("Value error, ")
        found.append(f"{name} {said}")
    return found
