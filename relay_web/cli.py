"""The `relay` command line: runs a subcommand and turns every failure into a sentence and a code.

Exit codes: 0 fine, 1 failed, 2 wrong usage, 78 a setting that cannot work. Nobody who types a
command is shown a traceback.
"""

import os
import sys
from typing import Final

import click
from pymongo.errors import ConfigurationError, InvalidURI, PyMongoError

from relay_web.commands import commands
from relay_web.drill import drill
from relay_web.errors import BadSetting, Invalid, RelayError

commands.add_command(drill)

FAILED: Final = 1
USAGE: Final = 2
#: sysexits' EX_CONFIG: starting again will not help.
BAD_SETTING: Final = 78


def run(arguments: list[str] | None = None) -> int:
    """Carry out one command line (the process's own by default); returns the exit code."""
    try:
        code = commands.main(arguments, prog_name="relay", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as problem:
        click.echo(problem.format_message(), err=True)
        return USAGE
    except click.UsageError as problem:
        command = problem.ctx.command_path if problem.ctx else "relay"
        return _fail(USAGE, f"{problem.format_message().rstrip('.')}; see `{command} --help`.")
    except click.ClickException as problem:
        return _fail(FAILED, problem.format_message())
    except Invalid as problem:
        option = f"--{problem.field.replace('_', '-')}: " if problem.field else ""
        return _fail(USAGE, option + problem.message)
    except (BadSetting, InvalidURI, ConfigurationError) as problem:
        said = problem if isinstance(problem, BadSetting) else f"MONGODB_URI: {problem}"
        return _fail(BAD_SETTING, str(said))
    except RelayError as problem:
        return _fail(FAILED, problem.message)
    except PyMongoError as problem:
        why = str(problem).split(", full error", maxsplit=1)[0].rstrip(".")
        return _fail(FAILED, f"The database refused ({why}); check MONGODB_URI and its rights.")
    except (click.Abort, KeyboardInterrupt):
        return _fail(FAILED, "Stopped.")
    except BrokenPipeError:  # the reader, `head` for one, had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code if isinstance(code, int) else 0


def _fail(code: int, message: str) -> int:
    for line in message.splitlines():
        click.echo(f"relay: {line}", err=True)
    return code
