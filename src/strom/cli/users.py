"""`strom users`: who may use the gateway, kept in strom.toml with their passwords as hashes."""

import json
import secrets
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from strom.errors import StromError
from strom.settings import load_settings

if TYPE_CHECKING:
    from strom.settings import UserSettings

_SHORTEST = 8
_GENERATED_BYTES = 18
_MAY = {"full": "write to and read from", "produce": "write to", "consume": "read from"}
Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Add, list and remove the users of the HTTP gateway.", no_args_is_help=True)
    group.command(name="add")(add)
    group.command(name="list")(list_users)
    group.command(name="remove")(remove)
    app.add_typer(group, name="users")


def add(
    name: Name,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    generate: Annotated[
        bool, typer.Option("--generate", help="Choose a password and show it this once.")
    ] = False,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC,…",
            help="Topics for the user: names, or beginnings that end in *; can be given several times. All if not given.",
        ),
    ] = None,
    rights: Annotated[
        str, typer.Option(metavar="full|produce|consume", help="Write, read or both.")
    ] = "full",
    replace: Annotated[bool, typer.Option("--replace", help="Change a user that is there already.")] = False,
) -> None:
    """Let a user in: writes the user and the hash of the password into strom.toml of this folder.

    Without --password-stdin or --generate the password is asked for, twice and hidden.

    Example: strom users add anna --topics sma-kafka,team-* --rights produce
    """
    from strom.ingest.gateway.passwords import make_hash
    from strom.settings.users_file import UsersFile

    file = UsersFile()
    file.check(name, replace=replace)
    wanted = [each.strip() for given in topics or ["*"] for each in given.split(",") if each.strip()]
    user = _user(wanted, rights)
    password = _password(name, from_stdin=password_stdin, generate=generate)
    file.put(name, user.model_copy(update={"password": make_hash(password)}), replace=replace)
    print(f"{name} may {_MAY[rights]} {', '.join(wanted)}.")
    if generate:
        print(f"The password, shown this once: {password}")
    _tell_when_it_holds(name)


def list_users(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")] = False,
) -> None:
    """List the users with their rights and topics; passwords are kept nowhere.

    Example: strom users list
    """
    from rich.console import Console
    from rich.table import Table

    users = load_settings().users
    if as_json:
        print(json.dumps({name: user.model_dump(exclude={"password"}) for name, user in users.items()}))
        return
    if not users:
        print("There are no users yet; `strom users add NAME` adds one.")
        return
    table = Table("user", "rights", "topics", box=None, padding=(0, 2, 0, 0))
    for name, user in users.items():
        table.add_row(name, user.rights, ", ".join(user.topics))
    Console().print(table)


def remove(name: Name) -> None:
    """Take a user out of strom.toml of this folder.

    Example: strom users remove anna
    """
    from strom.settings.users_file import UsersFile

    UsersFile().remove(name)
    print(f"{name} is no user any more.")
    _tell_when_it_holds(name)


def _user(topics: list[str], rights: str) -> "UserSettings":
    """Checked before a password is asked for."""
    from pydantic import ValidationError

    from strom.ingest.gateway.passwords import nobodys_hash
    from strom.settings import UserSettings

    try:
        return UserSettings.model_validate(
            {"password": str(nobodys_hash()), "topics": topics, "rights": rights}
        )
    except ValidationError as error:
        if error.errors()[0]["loc"][0] == "rights":
            raise StromError(f"--rights {rights} is unknown; there are {', '.join(_MAY)}.") from None
        raise StromError(
            f"--topics {','.join(topics)}: give names of topics, or beginnings that end in *."
        ) from None


def _password(name: str, *, from_stdin: bool, generate: bool) -> str:
    if from_stdin and generate:
        raise StromError("--password-stdin and --generate exclude each other; give one of them.")
    if generate:
        return secrets.token_urlsafe(_GENERATED_BYTES)
    if from_stdin:
        found = sys.stdin.readline().rstrip("\r\n")
    elif sys.stdin.isatty():
        found = typer.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True)
    else:
        raise StromError(
            "There is no terminal to ask for a password; give --password-stdin, or --generate for a new one."
        )
    if len(found) < _SHORTEST:
        raise StromError(f"The password is too short: give at least {_SHORTEST} characters, or --generate.")
    return found


def _tell_when_it_holds(name: str) -> None:
    from strom.settings import FILE_NAME

    in_file = load_settings(environment={}).users.get(name)
    if load_settings().users.get(name) == in_file:
        print(
            f"A gateway that takes its users from this {FILE_NAME} knows it within two seconds; it need not be restarted."
        )
    else:
        print(
            f"STROM_USERS is set and wins over {FILE_NAME}: this holds only where it is not set.",
            file=sys.stderr,
        )
