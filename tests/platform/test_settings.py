"""Settings: what is accepted, and the sentence for everything that is not."""

import stat

import pytest

from relay_web.errors import BadSetting
from relay_web.settings import Settings

KEY = "0123456789abcdef" * 2
PRODUCTION = {
    "MONGODB_URI": "mongodb://db.example.com/relay",
    "SECRET_KEY": KEY,
    "RELAY_SECRETS_KEY": KEY[::-1],
}

#: variable, value, what the sentence must hold
BAD = [
    ("PORT", "abc", "a whole number from 1 to 65535, not 'abc'"),
    ("PORT", "0", "from 1 to 65535"),
    ("PORT", "65536", "from 1 to 65535"),
    ("PORT", "5_000", "whole number"),
    ("PORT", "\u0665\u0660\u0660\u0660", "whole number"),
    ("PORT", "5" * 100, "…"),
    ("WEB_CONCURRENCY", "-1", "whole number from 1"),
    ("RELAY_CONCURRENCY", "0", "from 1 to 2000"),
    ("RELAY_CONCURRENCY", "1e3", "whole number"),
    ("RELAY_SEND_DEADLINE", "soon", "such as 15s or 2m"),
    ("RELAY_SEND_DEADLINE", "0", "0.1 s to 3600 s"),
    ("RELAY_SEND_DEADLINE", "-5", "not '-5'"),
    ("RELAY_SEND_DEADLINE", "nan", "such as"),
    ("RELAY_SEND_DEADLINE", "inf", "such as"),
    ("RELAY_LEASE", "29", "at least 30 s"),
    ("RELAY_LEASE", "two minutes", "such as"),
    ("RELAY_DB_TIMEOUT", "10s", "RELAY_LEASE must be at least 40 s"),
    ("RELAY_RETRY_SCHEDULE", "5s,,5m", "delays such as"),
    ("RELAY_RETRY_SCHEDULE", "5m,5s", "at least as long as the one before"),
    ("RELAY_RETRY_SCHEDULE", ",".join(["1s"] * 51), "At most 50"),
    ("RELAY_RETRY_SCHEDULE", "8d", "7 days"),
    ("RELAY_RETENTION_DAYS", "forever", "whole number"),
    ("RELAY_EGRESS_ALLOW", "internal", "10.0.0.0/8"),
    ("RELAY_EGRESS_ALLOW", "10.0.0.0/33", "10.0.0.0/33"),
    ("RELAY_ALLOW_HTTP", "maybe", "1 or 0"),
    ("RELAY_PUBLIC_URL", "relay.example.com", "https://relay.example.com"),
    ("RELAY_PUBLIC_URL", "https://relay.example.com/app", "https://relay.example.com"),
    ("RELAY_PUBLIC_URL", "https://relay.example.com:99999", "https://relay.example.com"),
    ("RELAY_SIGNUP", "closed", "open or invite"),
    ("RELAY_TRUSTED_PROXIES", "all", "from 0 to 5"),
    ("SMTP_URL", "mail.example.com", "smtp://user:password@host:587"),
    ("LOG_LEVEL", "LOUD", "DEBUG, INFO"),
    ("LOG_FORMAT", "xml", "logfmt or json or console"),
    ("SECRET_KEY", "short", "at least 16 characters"),
    ("SECRET_KEY", "please-change-me-now", "random text"),
    ("RELAY_SECRETS_KEY", f"{KEY},short", "at least 16 characters"),
    ("MONGODB_URI", "postgres://db.example.com/relay", "mongodb:// or mongodb+srv://"),
    ("MONGODB_URI", "mongodb://user:p@ss@host/relay", "percent-encoded"),
    ("MONGODB_URI", "mongodb://", "must look like"),
]


@pytest.mark.parametrize(("variable", "value", "said"), BAD)
def test_a_value_that_cannot_work_is_refused_in_one_sentence(variable, value, said):
    with pytest.raises(BadSetting) as refused:
        Settings.load({**PRODUCTION, variable: value})
    message = str(refused.value)
    assert said in message
    assert message.count("\n") == 0
    assert message.startswith("RELAY_LEASE" if variable == "RELAY_DB_TIMEOUT" else variable)
    assert message.endswith(".")


def test_all_problems_are_listed_at_once():
    with pytest.raises(BadSetting) as refused:
        Settings.load({**PRODUCTION, "PORT": "x", "RELAY_LEASE": "1", "LOG_FORMAT": "x"})
    assert [line.split()[0] for line in str(refused.value).splitlines()] == [
        "PORT",
        "RELAY_LEASE",
        "LOG_FORMAT",
    ]


@pytest.mark.parametrize("missing", ["SECRET_KEY", "RELAY_SECRETS_KEY"])
def test_production_does_not_start_without_its_keys(missing):
    with pytest.raises(BadSetting, match=f"^{missing} must be set to a long random text"):
        Settings.load({**PRODUCTION, missing: " "})


def test_heroku_without_a_database_is_refused_because_its_disk_is_wiped():
    with pytest.raises(BadSetting, match=r"^MONGODB_URI must be set here"):
        Settings.load({**PRODUCTION, "MONGODB_URI": "", "DYNO": "web.1"})


@pytest.mark.parametrize(
    ("environment", "uri"),
    [
        ({"MONGO_URL": "mongodb://a/"}, "mongodb://a/"),
        ({"DATABASE_URL": "postgres://x/", "MONGOHQ_URL": "mongodb://b/"}, "mongodb://b/"),
        ({"MONGODB_URI": "mongodb+srv://c/", "MONGO_URL": "mongodb://d/"}, "mongodb+srv://c/"),
        ({"MONGODB_URI": "", "SCALINGO_MONGO_URL": "mongodb://e/x"}, "mongodb://e/x"),
    ],
)
def test_the_first_name_that_holds_a_mongodb_address_counts(environment, uri):
    assert Settings.load({**PRODUCTION, "MONGODB_URI": "", **environment}).mongodb_uri == uri


def test_an_empty_variable_counts_as_unset():
    blank = dict.fromkeys(["PORT", "RELAY_LEASE", "RELAY_EGRESS_ALLOW", "SMTP_URL", "DYNO"], "")
    assert Settings.load({**PRODUCTION, **blank}) == Settings.load(PRODUCTION)


def test_durations_and_lists_are_read_as_written():
    settings = Settings.load(
        {
            **PRODUCTION,
            "RELAY_SEND_DEADLINE": "1500ms",
            "RELAY_LEASE": "1m",
            "RELAY_RETRY_SCHEDULE": "1s, 2m,3h",
            "RELAY_SECRETS_KEY": f"{KEY}, {KEY[::-1]}",
        }
    )
    assert (settings.send_deadline, settings.lease) == (1.5, 60.0)
    assert settings.retry_schedule == (1.0, 120.0, 10800.0)
    assert settings.secrets_keys == (KEY, KEY[::-1])


def test_the_defaults_are_those_of_a_public_instance():
    settings = Settings.load(PRODUCTION)
    assert not settings.development
    assert not settings.allow_http
    assert settings.egress_policy().allow == ()
    assert settings.lease == settings.send_deadline + 2 * settings.db_timeout + 5


def test_a_machine_without_settings_is_in_development_mode_and_keeps_its_keys(tmp_path):
    first = Settings.load({}, data_dir=tmp_path)
    again = Settings.load({"RELAY_DATA_DIR": str(tmp_path)})
    assert first.development
    assert first.allow_http
    assert first == again
    assert first.secret_key != first.secrets_keys[0]
    for name in ("secret_key", "relay_secrets_key"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_a_database_without_keys_is_not_development_mode(tmp_path):
    with pytest.raises(BadSetting, match="SECRET_KEY must be set"):
        Settings.load({"MONGO_URL": "mongodb://db/"}, data_dir=tmp_path)


def test_an_environment_variable_cannot_switch_development_mode_on():
    assert not Settings.load({**PRODUCTION, "development": "1"}).development


def test_a_directory_without_relay_is_not_made_by_looking(tmp_path):
    with pytest.raises(BadSetting, match="start `relay up` there first"):
        Settings.load({}, data_dir=tmp_path / "typo")
    assert not (tmp_path / "typo").exists()


def test_secrets_stay_out_of_repr():
    secrets = {
        "MONGODB_URI": "mongodb://user:hunter22@h/relay",
        "SMTP_URL": "smtp://u:hunter22@h",
        "RELAY_SETUP_TOKEN": "hunter22",
        "RELAY_METRICS_TOKEN": "hunter22",
    }
    shown = repr(Settings.load({**PRODUCTION, **secrets}))
    assert "hunter22" not in shown
    assert KEY not in shown
    assert KEY[::-1] not in shown
