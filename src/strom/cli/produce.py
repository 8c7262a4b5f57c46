"""`strom produce`: send messages from files or standard input."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from strom.cli.options import HomeOption, KafkaOption, settings_from
from strom.streams.choices import TIMEOUT_SECONDS, Acks, Compression

if TYPE_CHECKING:
    from strom.settings import Settings


def register(app: typer.Typer) -> None:
    app.command()(produce)


def produce(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]…", help="- or none: standard input.", show_default=False),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Each file is one message, instead of each line.")
    ] = False,
    key: Annotated[str | None, typer.Option(help="The key of every message.")] = None,
    key_separator: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Each line is a key, this text, a value; \\t is a tab.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A header of every message; repeatable.")
    ] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="Where to, whatever the key says.")] = None,
    timestamp: Annotated[
        str | None, typer.Option(metavar="TIME", help="Of every message: 2026-11-15T20:15 or epoch ms.")
    ] = None,
    acks: Annotated[
        Acks, typer.Option(help="Who must have a message: nobody, one broker, all copies.")
    ] = "all",
    sync: Annotated[
        bool, typer.Option("--sync/--async", help="Wait for each message before the next, end at a failure.")
    ] = False,
    compression: Annotated[Compression, typer.Option(help="How batches are compressed.")] = "lz4",
    idempotent: Annotated[
        bool | None,
        typer.Option(
            "--idempotent/--no-idempotent", help="Whether no retry writes twice; if not given: with acks all."
        ),
    ] = None,
    transactional: Annotated[
        str | None,
        typer.Option(metavar="ID", help="All or nothing; another producer with this id can write no more."),
    ] = None,
    partitioner: Annotated[
        Literal["key", "area"] | None, typer.Option(help="As kafka.partitioner says, if not given.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="After so long without an answer a message is given up.")
    ] = TIMEOUT_SECONDS,
    failed: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Add every line that was not written to this file, to be sent again.",
            show_default=False,
        ),
    ] = None,
    kafka: KafkaOption = None,
    home: HomeOption = None,
) -> None:
    """Send messages to a topic: each line of the files or of standard input is one, or each file.

    Values that are too large for one record go in parts. Into sma-kafka a message goes with its meter as the key, unless
    one is given. When Kafka confirms nothing, it waits and says so; once a message is given up, no more are sent. Exit
    code 1 if some were not written: it names the first ones, and --failed keeps all.

    Example: strom produce my-topic readings.jsonl --key-separator : --header source=test
    """
    from strom.cli.message_source import STDIN, check_files, messages
    from strom.cli.produce_failed import FailedLines
    from strom.cli.produce_heading import heading
    from strom.cli.produce_run import NAMED, Run
    from strom.cli.produce_watch import Watch
    from strom.cli.running import end_like_ctrl_c
    from strom.streams.producer import Producer

    _check_keys(key, key_separator, whole=whole)
    _check_failed(failed, transactional, whole=whole)
    sources = files or [STDIN]
    check_files(sources)
    settings = settings_from(kafka=kafka, home=home, more={"kafka.partitioner": partitioner})
    found = messages(sources, whole=whole, key=key, separator=key_separator, most=settings.parts.memory_bytes)
    producer = Producer(
        settings,
        acks=acks,
        sync=sync,
        compression=compression,
        idempotent=idempotent,
        transactional=transactional,
        timeout=timeout,
    )
    run = Run(
        producer,
        topic,
        heading=heading(topic, _headers(header or []), settings),
        partition=partition,
        timestamp=None if timestamp is None else _epoch_ms(timestamp, settings),
        all_or_nothing=transactional is not None,
        one_by_one=sync,
        failed_lines=None if failed is None else FailedLines(failed, sources),
        named=len(sources) if whole else NAMED,
    )
    end_like_ctrl_c()
    with Watch(run.progress, settings.kafka_bootstrap, timeout):
        run.send(found)
    run.tell()


def _check_keys(key: str | None, separator: str | None, *, whole: bool) -> None:
    from strom.errors import StromError

    if separator is None:
        return
    if key is not None:
        raise StromError("--key and --key-separator both say what the key is; give one of them.")
    if whole or not separator:
        raise StromError(
            "--key-separator is the text between key and value of a line: not empty, no --whole."
        )


def _check_failed(failed: Path | None, transactional: str | None, *, whole: bool) -> None:
    from strom.errors import StromError

    if failed is None:
        return
    if whole:
        raise StromError("--failed keeps lines, and --whole sends files: it names each that was not written.")
    if transactional is not None:
        raise StromError("--transactional writes all or nothing: send the same again, without --failed.")


def _headers(given: list[str]) -> list[tuple[str, str | bytes | None]]:
    from strom.errors import StromError

    pairs: list[tuple[str, str | bytes | None]] = []
    for each in given:
        name, found, value = each.partition("=")
        if not found or not name:
            raise StromError(f"--header {each!r} is no header; write it as NAME=VALUE.")
        pairs.append((name, value))
    return pairs


def _epoch_ms(text: str, settings: "Settings") -> int:
    from strom.cli.times import moment

    return int(text) if text.isascii() and text.isdecimal() else moment(text, settings.page.timezone)
