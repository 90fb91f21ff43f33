"""Keys for a machine of one's own: made once, kept beside the embedded database's data."""

import os
import secrets
from pathlib import Path

from relay_web.errors import BadSetting


def local_key(data_dir: Path, name: str) -> str:
    """The key kept as `data_dir/name`, made (256 random bits, mode 0600) when there is none.

    Raises BadSetting where the data directory does not exist: only `relay up` makes one.
    """
    path = data_dir / name
    if not data_dir.is_dir():
        raise BadSetting(
            f"There is no Relay in {data_dir}; start `relay up` there first, "
            "or set MONGODB_URI, SECRET_KEY and RELAY_SECRETS_KEY."
        )
    try:
        if not path.exists():
            _create(path, secrets.token_hex(32))
        return path.read_text().strip()
    except OSError as problem:
        raise BadSetting(
            f"{path} cannot be used ({problem.strerror}); make it readable, or set {name.upper()}."
        ) from None


def _create(path: Path, text: str) -> None:
    """Write a private file whole or not at all; when two processes try, the first one's stands."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(draft, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(f"{text}\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
