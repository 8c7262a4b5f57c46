"""`strom topics`: which topics there are, and new ones."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strom.cli.options import HomeOption, KafkaOption, settings_from

if TYPE_CHECKING:
    from strom.streams.inventory import TopicState

_MS_PER_HOUR = 3_600_000
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List, create and describe Kafka topics.", no_args_is_help=True)
    group.command(name="list")(list_topics)
    group.command(name="create")(create)
    group.command(name="describe")(describe)
    app.add_typer(group, name="topics")


def list_topics(as_json: JsonOption = False, kafka: KafkaOption = None, home: HomeOption = None) -> None:
    """All topics but Kafka's own, with how many records each holds.

    Example: strom topics list
    """
    from rich.console import Console
    from rich.table import Table

    from strom.streams.inventory import topic_states

    states = topic_states(settings_from(kafka=kafka, home=home))
    if as_json:
        print(json.dumps([_plain(state) for state in states], indent=2))
        return
    table = Table(box=None)
    table.add_column("topic", no_wrap=True)
    for heading in ("partitions", "copies", "kept", "records", "what it holds"):
        table.add_column(heading)
    for state in states:
        numbers = (str(len(state.partitions)), str(state.replication), _kept(state), f"{state.records:,}")
        table.add_row(state.name, *numbers, state.meaning)
    Console().print(table)


def create(
    names: Annotated[list[str], typer.Argument(metavar="TOPIC…", show_default=False)],
    partitions: Annotated[
        int | None, typer.Option(min=1, help="As kafka.partitions says, if not given.")
    ] = None,
    replication: Annotated[
        int | None, typer.Option(min=1, help="As kafka.replication says, if not given.")
    ] = None,
    retention_hours: Annotated[
        int | None, typer.Option(min=1, help="As kafka.retention_hours says, if not given.")
    ] = None,
    compact: Annotated[bool, typer.Option("--compact", help="Keep the last record of each key.")] = False,
    kafka: KafkaOption = None,
    home: HomeOption = None,
) -> None:
    """Create topics; one that exists already is left as it is and named.

    Example: strom topics create my-topic --partitions 8
    """
    from strom.streams.admin import create_topics, new_topic

    settings = settings_from(kafka=kafka, home=home)
    wanted = [
        new_topic(
            name,
            partitions=partitions or settings.kafka.partitions,
            replication=replication or settings.kafka_replication,
            compacted=compact,
            retention_hours=retention_hours or settings.kafka.retention_hours,
        )
        for name in dict.fromkeys(names)
    ]
    created = create_topics(settings, wanted)
    for topic in wanted:
        print(f"{topic.topic}: {'created' if topic.topic in created else 'exists already, left as it is'}")


def describe(
    names: Annotated[list[str], typer.Argument(metavar="TOPIC…", show_default=False)],
    as_json: JsonOption = False,
    kafka: KafkaOption = None,
    home: HomeOption = None,
) -> None:
    """Partitions with their leaders, copies and offsets, and the settings that differ from the broker's.

    Example: strom topics describe sma-kafka
    """
    from strom.streams.inventory import topic_states

    states = topic_states(settings_from(kafka=kafka, home=home), names)
    if as_json:
        print(json.dumps([_plain(state) for state in states], indent=2))
        return
    for state in states:
        _show(state)


def _show(state: "TopicState") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"{state.name}  {state.meaning}", style="bold", markup=False, highlight=False)
    console.print(f"kept: {_kept(state)}; records: {state.records:,}", markup=False, highlight=False)
    for name, value in sorted(state.config.items()):
        console.print(f"  {name}={value}", markup=False, highlight=False)
    table = Table("partition", "leader", "copies", "in sync", "first", "end", "records", box=None)
    for each in state.partitions:
        places = (_numbers(each.replicas), _numbers(each.in_sync))
        spans = (str(each.first_offset), str(each.end_offset), f"{each.records:,}")
        table.add_row(str(each.number), str(each.leader), *places, *spans)
    console.print(table)


def _kept(state: "TopicState") -> str:
    if state.compacted:
        return "last of each key"
    if state.retention_ms is None:
        return "as the broker says"
    return "for ever" if state.retention_ms < 0 else f"{state.retention_ms / _MS_PER_HOUR:g} h"


def _numbers(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def _plain(state: "TopicState") -> dict[str, Any]:
    from dataclasses import asdict

    partitions = [asdict(each) | {"records": each.records} for each in state.partitions]
    return {
        "topic": state.name,
        "meaning": state.meaning,
        "replication": state.replication,
        "compacted": state.compacted,
        "retention_ms": state.retention_ms,
        "records": state.records,
        "config": state.config,
        "partitions": partitions,
    }
