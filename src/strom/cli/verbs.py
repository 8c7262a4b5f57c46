"""Which verb is defined in which file; the files import what they need only when their verb runs."""

from importlib import import_module

import typer

# One file a group of verbs; each has `register(app)`. The order is the order in `strom --help`.
GROUPS: tuple[str, ...] = (
    "demo",
    "stack",
    "servers",
    "bridge",
    "produce",
    "poll",
    "gateway",
    "users",
    "tail",
    "topics",
    "dead_letters",
    "sql",
    "alerts",
    "meters",
    "serve",
    "simulate",
    "adapter",
    "pipeline",
    "lake",
    "bench",
    "decode",
    "settings",
)


def register(app: typer.Typer) -> None:
    """Add every verb to the command."""
    for group in GROUPS:
        import_module(f"strom.cli.{group}").register(app)
