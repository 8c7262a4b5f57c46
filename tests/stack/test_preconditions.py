"""What is refused before anything is started, each with one sentence, and the small facts behind `status`."""

import os
from pathlib import Path

import pytest

from strom.errors import StromError
from strom.settings import Settings
from strom.stack.catalogue import choose, needed_elsewhere, usual
from strom.stack.kafka import Kafka
from strom.stack.kafka_storage import VERSION_FILE, installed_version
from strom.stack.lock import PartLocks, holder_pid
from strom.stack.mosquitto import Mosquitto
from strom.stack.own import Pipeline
from strom.stack.postgres import Postgres, without_password
from strom.stack.ready import announce, announced_pid, withdraw
from strom.stack.state import status
from tests.conftest import settings_in


def test_status_has_every_part_of_the_contract(own_settings: Settings) -> None:
    parts = status(own_settings)
    assert list(parts) == ["kafka", "mqtt", "postgres", "bridge", "pipeline", "page", "gateway"]
    for part in parts.values():
        assert part["state"] == "stopped"
        assert part["restarts"] == 0
        assert isinstance(part["address"], str)
        assert "pid" not in part


def test_status_shows_existing_servers_as_external_and_no_password(own_settings: Settings) -> None:
    url = "postgresql://strom:secret@db.example:5432/strom"
    settings = own_settings.model_copy(
        update={"postgres": own_settings.postgres.model_copy(update={"url": url})}
    )
    assert status(settings)["postgres"] == {
        "state": "external",
        "address": "postgresql://strom@db.example:5432/strom",
        "restarts": 0,
    }


def test_status_shows_a_part_that_was_started_by_hand(own_settings: Settings) -> None:
    announce(own_settings.home, "bridge")
    assert status(own_settings)["bridge"]["pid"] == os.getpid()
    assert status(own_settings)["bridge"]["state"] == "running"


def test_an_announcement_can_be_withdrawn(tmp_path: Path) -> None:
    announce(tmp_path, "page")
    assert announced_pid(tmp_path, "page") == os.getpid()
    withdraw(tmp_path, "page")
    assert announced_pid(tmp_path, "page") is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://a:b@h:1/d", "postgresql://a@h:1/d"),
        ("postgresql://a@h:1/d", "postgresql://a@h:1/d"),
        ("postgresql://a:p%40b@h/d?sslmode=require", "postgresql://a@h/d?sslmode=require"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_serve_is_another_name_of_the_page(own_settings: Settings) -> None:
    assert [part.name for part in choose(own_settings, ["serve", "kafka"])] == ["kafka", "page"]


def test_brokers_and_workers_are_parts_of_their_own(own_settings: Settings) -> None:
    settings = own_settings.model_copy(
        update={
            "kafka": own_settings.kafka.model_copy(
                update={"port": 9092, "controller_port": 9093, "brokers": 3}
            ),
            "spark": own_settings.spark.model_copy(update={"master": "cluster", "workers": 2}),
        }
    )
    assert settings.kafka_bootstrap == "127.0.0.1:9092,127.0.0.1:9102,127.0.0.1:9112"
    assert settings.kafka_replication == 3
    names = [part.name for part in choose(settings, usual(settings))]
    assert names[:5] == ["kafka", "kafka-2", "kafka-3", "mqtt", "postgres"]
    workers = ["spark-worker-1", "spark-worker-2"]
    assert names[5:] == ["spark-master", *workers, "bridge", "pipeline", "page", "gateway"]
    pipeline = choose(settings, ["pipeline"])
    assert {part.name for part in needed_elsewhere(settings, pipeline)} == {
        "kafka", "kafka-2", "kafka-3", "postgres", "spark-master", "spark-worker-1", "spark-worker-2",
    }  # fmt: skip


def test_without_being_asked_for_there_is_no_spark_cluster(own_settings: Settings) -> None:
    assert "spark" not in usual(own_settings)
    assert "spark" not in Pipeline(own_settings).needs


def test_kafka_data_of_another_number_of_brokers_is_refused(own_settings: Settings) -> None:
    data = own_settings.home / "kafka"
    data.mkdir(parents=True)
    (data / VERSION_FILE).write_text(installed_version() + "\n", encoding="ascii")
    three = own_settings.model_copy(update={"kafka": own_settings.kafka.model_copy(update={"brokers": 3})})
    Kafka(own_settings).check()  # one without a note is from before there could be several
    with pytest.raises(StromError, match=r"was made for 1 brokers, kafka\.brokers is 3"):
        Kafka(three).check()


def test_an_unknown_part_is_refused_with_the_known_ones(own_settings: Settings) -> None:
    with pytest.raises(StromError, match="zookeeper is not a part of the stack: choose from kafka, mqtt"):
        choose(own_settings, ["zookeeper"])


def test_kafka_data_of_a_newer_version_is_refused(own_settings: Settings) -> None:
    data = own_settings.home / "kafka"
    data.mkdir(parents=True)
    (data / VERSION_FILE).write_text("99.0.0\n", encoding="ascii")
    with pytest.raises(StromError, match=r"written by Kafka 99\.0\.0"):
        Kafka(own_settings).check()


def test_kafka_data_of_an_older_version_is_taken(own_settings: Settings) -> None:
    data = own_settings.home / "kafka"
    data.mkdir(parents=True)
    (data / VERSION_FILE).write_text("4.0.0\n", encoding="ascii")
    Kafka(own_settings).check()
    assert installed_version() > "4.0.0"


def test_a_folder_that_is_not_kafkas_is_left_alone(own_settings: Settings) -> None:
    data = own_settings.home / "kafka"
    data.mkdir(parents=True)
    (data / "thesis.txt").write_text("do not lose", encoding="ascii")
    with pytest.raises(StromError, match="move them away"):
        Kafka(own_settings).check()


def test_postgres_data_of_another_version_is_refused(own_settings: Settings) -> None:
    data = own_settings.home / "postgres"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("8\n", encoding="ascii")
    with pytest.raises(StromError, match="written by Postgres 8, but version"):
        Postgres(own_settings).check()


def test_missing_programs_are_told_with_their_package(
    own_settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from strom.stack import java, programs

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(programs, "DEBIAN_POSTGRES", tmp_path)
    monkeypatch.setattr(programs, "SBIN", str(tmp_path))
    java.find_java.cache_clear()
    for part, package in ((Kafka, "openjdk-17"), (Mosquitto, "mosquitto"), (Postgres, "postgresql")):
        with pytest.raises(StromError, match=package):
            part(own_settings).check()


def test_an_old_java_is_refused_by_its_version(
    own_settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from strom.stack import java

    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n", encoding="ascii")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java.find_java.cache_clear()
    with pytest.raises(StromError, match="is Java 8, Strom needs 17 or newer"):
        Kafka(own_settings).check()


@pytest.fixture(autouse=True)
def _find_java_anew() -> None:
    from strom.stack import java

    java.find_java.cache_clear()


def test_only_one_supervisor_runs_a_kind_of_parts_in_a_home(tmp_path: Path) -> None:
    first, second = PartLocks(tmp_path, ["kafka", "mqtt"]), PartLocks(tmp_path, ["postgres", "mqtt"])
    first.acquire()
    assert holder_pid(tmp_path, "mqtt") == os.getpid()
    with pytest.raises(StromError, match=f"mqtt is running already .* \\(pid {os.getpid()}\\)"):
        second.acquire()
    assert holder_pid(tmp_path, "postgres") is None  # all of them or none
    first.release()
    assert holder_pid(tmp_path, "mqtt") is None
    second.acquire()
    second.release()


def test_child_processes_get_exactly_the_given_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from strom.settings import load_settings

    monkeypatch.setenv("STROM_KAFKA_HEAP", "7g")
    settings = settings_in(tmp_path)
    environment = settings.child_environment()
    assert load_settings(environment=environment, folder=tmp_path) == settings
