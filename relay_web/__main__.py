"""`python -m relay_web` and `relay`: patch for a worker, then read the command line."""

import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:2] == ["worker"]:
        # Before every other import, ours included. c-ares, because ten dead names block the ten
        # threads of the default resolver (ecosystem §4); GEVENT_RESOLVER=thread brings it back.
        os.environ.setdefault("GEVENT_RESOLVER", "ares")
        from gevent import monkey

        monkey.patch_all()
    from relay_web.cli import run

    sys.exit(run())


if __name__ == "__main__":
    main()
