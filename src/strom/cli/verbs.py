"""Which verb is defined in which file; the files import what they need only when their verb runs."""

import typer


def register(app: typer.Typer) -> None:
    """Add every verb to the command."""
