"""Prepares a broker's data folder by Kafka's own steps, and refuses one that this Kafka cannot use."""

import base64
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path

from strom.errors import StromError
from strom.stack.java import find_java, jars_folder
from strom.stack.kafka_config import HOST, Node

VERSION_FILE = "kafka-version"
BROKERS_FILE = "kafka-brokers"
CLUSTER_FILE = "kafka-cluster"  # in the home: the id that all brokers share
QUICK = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]


def java_arguments(log4j: Path) -> list[str]:
    return [f"-Dlog4j2.configurationFile={log4j}", "-cp", f"{jars_folder('kafka')}/*"]


def format_data(
    node: Node, data: Path, config: Path, write_config: Callable[[Path], None], java: list[str]
) -> None:
    """In a folder beside: an interruption leaves nothing half-formatted behind."""
    fresh = data.with_name(f"{data.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    write_config(fresh)
    cluster = _cluster_id(data.parent)
    voters = ",".join(
        f"{each.number}@{HOST}:{each.controller_port}:{_folder_id(cluster, each.number)}"
        for each in node.others
    )
    _storage_tool(data, java, "format", "-t", cluster, "--initial-controllers", voters, "-c", str(config))
    (fresh / BROKERS_FILE).write_text(f"{len(node.others)}\n", encoding="ascii")
    note_version(fresh)
    if data.exists():
        data.rmdir()  # an empty one; anything else is not ours to replace
    fresh.rename(data)
    write_config(data)


def note_version(data: Path) -> None:
    (data / VERSION_FILE).write_text(installed_version() + "\n", encoding="ascii")


def refuse_unusable(data: Path, brokers: int) -> None:
    """Data of a newer Kafka, of a cluster of another size, or not Kafka's at all."""
    marker = data / VERSION_FILE
    if marker.exists():
        wrote, here = marker.read_text(encoding="ascii").strip(), installed_version()
        if _numbers(wrote) > _numbers(here):
            raise StromError(
                f"{data} was written by Kafka {wrote}, which {here} cannot read: use the Strom that "
                "wrote it, or choose another home (STROM_HOME or --home)."
            )
        made_for = _brokers_of(data)
        if made_for != brokers:
            raise StromError(
                f"{data} was made for {made_for} brokers, kafka.brokers is {brokers}: set it back, "
                "or choose another home (STROM_HOME or --home)."
            )
    elif data.exists() and any(data.iterdir()):
        raise StromError(
            f"{data} holds files that are not from Kafka: move them away or choose another home."
        )


def installed_version() -> str:
    """The version of the broker's jar, as `make setup` fetched it."""
    jar = next(iter(jars_folder("kafka").glob("kafka_2.13-*.jar")), None)
    found = re.search(r"-([\d.]+)\.jar$", jar.name) if jar else None
    if found is None:
        raise StromError("The Kafka broker's jar is missing: run `make setup` to fetch it.")
    return found.group(1)


def _brokers_of(data: Path) -> int:
    marker = data / BROKERS_FILE
    return int(marker.read_text(encoding="ascii")) if marker.exists() else 1


def _cluster_id(home: Path) -> str:
    """The same for all brokers, which are prepared side by side: whoever is first makes it."""
    path = home / CLUSTER_FILE
    fresh = path.with_suffix(f".{uuid.uuid4().hex}")
    fresh.write_text(_as_kafka_writes(uuid.uuid4()) + "\n", encoding="ascii")
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return path.read_text(encoding="ascii").strip()


def _folder_id(cluster: str, number: int) -> str:
    """Every broker must know the others' folders before they are there."""
    return _as_kafka_writes(uuid.uuid5(uuid.NAMESPACE_OID, f"{cluster}/{number}"))


def _as_kafka_writes(identity: uuid.UUID) -> str:
    text = base64.urlsafe_b64encode(identity.bytes).decode("ascii").rstrip("=")
    # One that begins with a dash would be taken for a flag.
    return text if not text.startswith("-") else f"A{text[1:]}"


def _storage_tool(data: Path, java: list[str], *arguments: str) -> str:
    command = [find_java(), *QUICK, *java, "kafka.tools.StorageTool", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise StromError(f"Kafka could not prepare {data}: {said[-1] if said else 'no reason given'}.")
    return done.stdout


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
