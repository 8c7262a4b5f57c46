"""The `strom` command: gathers the verbs and turns errors that a person can mend into one sentence."""

import sys
from typing import NoReturn

import typer

from strom.errors import StromError

app = typer.Typer(
    name="strom",
    help="Smart-meter readings from the meter to people and services in real time.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; a StromError becomes its sentence on standard error and its exit code.

    So does a package that only an extra of the installation brings.
    """
    from strom.cli import verbs

    verbs.register(app)
    try:
        app()
    except StromError as error:
        _give_up(error)
    except ModuleNotFoundError as error:
        from strom.extras import sentence

        advice = sentence(error.name)
        if advice is None:
            raise
        _give_up(StromError(advice))
    except KeyboardInterrupt:
        sys.exit(130)


def _give_up(error: StromError) -> NoReturn:
    print(f"strom: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
