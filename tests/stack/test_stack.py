"""The embedded stack as people start it: what survives a kill, what is refused, what is never left behind."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strom.errors import StromError
from strom.settings import Settings
from strom.stack.catalogue import SERVERS
from strom.stack.processes import await_end, birth
from strom.stack.ready import announced_pid
from strom.stack.state import status
from strom.stack.supervisor import Stack
from tests.conftest import settings_in
from tests.stack.servers import keep_in_kafka, keep_in_mosquitto, keep_in_postgres

pytestmark = pytest.mark.stack


def test_killing_every_server_and_starting_again_keeps_what_was_acknowledged(own_settings: Settings) -> None:
    keepers = (keep_in_kafka, keep_in_mosquitto, keep_in_postgres)
    with Stack(own_settings, SERVERS) as stack:
        checks = [keep(own_settings) for keep in keepers]
        gone = {part: stack.kill(part) for part in SERVERS}
        for part, pid in gone.items():
            assert stack.await_ready(part, other_than=pid) != pid
            assert stack.restarts(part) == 1
        for still_there in checks:
            still_there()
    with Stack(own_settings, SERVERS):
        for still_there in checks:
            still_there()


def test_a_killed_supervisor_leaves_no_orphan_and_the_next_start_needs_no_cleaning(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "home")
    command = [sys.executable, "-m", "strom", "up", "--only", ",".join(SERVERS)]
    supervisor = subprocess.Popen(
        command, env=settings.child_environment(), stdout=subprocess.PIPE, text=True
    )
    assert supervisor.stdout is not None
    next(line for line in supervisor.stdout if "all parts are ready" in line)
    still_there = keep_in_kafka(settings)
    pids = [part["pid"] for part in status(settings).values() if "pid" in part]
    assert len(pids) == 3
    supervisor.kill()
    supervisor.wait()
    supervisor.stdout.close()
    assert all(await_end(pid, 30) for pid in pids)
    with Stack(settings, SERVERS):
        still_there()


def test_a_process_that_a_former_supervisor_left_is_ended_before_the_start(tmp_path: Path) -> None:
    from strom.stack.state import PartState, write_state

    settings = settings_in(tmp_path)
    (tmp_path / "run").mkdir()
    left = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    write_state(tmp_path, "mqtt", {"mqtt": PartState("running", "", left.pid, 0, birth(left.pid))})
    with Stack(settings, ["mqtt"]):
        assert left.wait() == -signal.SIGKILL


def test_terminating_up_stops_every_part_and_exits_with_zero(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "home")
    command = [sys.executable, "-m", "strom", "up", "--only", "mqtt,postgres"]
    with subprocess.Popen(command, env=settings.child_environment(), stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        next(line for line in up.stdout if "all parts are ready" in line)
        pids = [part["pid"] for part in status(settings).values() if "pid" in part]
        up.send_signal(signal.SIGTERM)
        assert up.wait() == 0
    assert [birth(pid) for pid in pids] == [None, None]
    assert {part["state"] for part in status(settings).values()} == {"stopped"}


def test_detached_stack_is_there_when_up_returns_and_gone_when_down_returns(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "home")
    up = _strom(settings, "up", "--only", "mqtt", "--detach")
    assert up.returncode == 0, up.stderr
    pid = status(settings)["mqtt"]["pid"]
    assert birth(pid) is not None
    again = _strom(settings, "up", "--only", "mqtt")
    assert again.returncode == 2
    assert "mqtt is running already" in again.stderr
    assert str(announced_pid(settings.home, "stack-mqtt")) in again.stderr
    assert _strom(settings, "down").returncode == 0
    assert birth(pid) is None
    assert "No stack is running" in _strom(settings, "down").stdout


def test_stacks_of_different_parts_run_side_by_side_in_one_home(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "home")
    mqtt = _strom(settings, "up", "--only", "mqtt", "--detach")
    kafka = _strom(settings, "stack", "kafka", "--detach")
    assert (mqtt.returncode, kafka.returncode) == (0, 0), mqtt.stderr + kafka.stderr
    using = _strom(
        settings, "up", "--only", "mqtt,kafka,bridge", "--detach",
        "--mqtt", f"127.0.0.1:{settings.mqtt.port}", "--kafka", settings.kafka_bootstrap,
    )  # fmt: skip
    assert using.returncode == 0, using.stderr
    found = status(settings)
    assert {name: found[name]["state"] for name in ("kafka", "mqtt", "bridge", "postgres")} == {
        "kafka": "running", "mqtt": "running", "bridge": "running", "postgres": "stopped",
    }  # fmt: skip
    again = _strom(settings, "up", "--only", "kafka,mqtt,postgres")
    assert "kafka, mqtt are running already" in again.stderr
    assert sorted(path.name for path in (settings.home / "logs").glob("up*.log")) == [
        "up-bridge.log", "up-kafka.log", "up-mqtt.log",
    ]  # fmt: skip
    down = _strom(settings, "down")
    assert down.stdout.count("has stopped") == 3
    assert down.stdout.startswith(f"The stack (pid {announced_pid(settings.home, 'stack-bridge')}) has")
    assert {part["state"] for part in status(settings).values()} == {"stopped"}


def test_a_pid_file_of_postgres_that_now_names_another_program_is_no_obstacle(own_settings: Settings) -> None:
    with Stack(own_settings, ["postgres"]):
        pass
    marker = own_settings.home / "postgres" / "postmaster.pid"
    marker.write_text(f"{os.getpid()}\n{marker.parent}\n1\n", encoding="ascii")
    with Stack(own_settings, ["postgres"]) as stack:
        assert stack.state("postgres").state == "running"


def test_sessions_of_a_killed_postgres_are_gone_before_the_next_one_runs(own_settings: Settings) -> None:
    from strom.store.schema import connect

    with Stack(own_settings, ["postgres"]) as stack, connect(own_settings.postgres_url) as busy:
        busy.execute("CREATE TABLE written (number bigint)")
        busy.commit()
        session = busy.info.backend_pid
        # Busy on its own: it hears neither of its client nor of its server until it has counted to the end.
        busy.pgconn.send_query(b"INSERT INTO written SELECT sum(n) FROM generate_series(1, 10000000000) n")
        gone = stack.kill("postgres")
        stack.await_ready("postgres", other_than=gone)
        assert birth(session) is None
        with connect(own_settings.postgres_url) as after:
            assert after.execute("SELECT count(*) FROM written").fetchone() == (0,)
        busy.close()


def test_a_port_in_use_is_told_by_number_and_setting(own_settings: Settings) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", own_settings.mqtt.port))
        taken.listen()
        here = _strom(own_settings, "up", "--only", "mqtt")
        detached = _strom(own_settings, "up", "--only", "mqtt", "--detach")
    for refused in (here, detached):
        assert refused.returncode == 2
        assert f"Port {own_settings.mqtt.port}" in refused.stderr
        assert "STROM_MQTT_PORT" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_a_halted_part_stays_down_until_it_is_resumed(own_settings: Settings) -> None:
    with Stack(own_settings, ["mqtt"]) as stack:
        before = stack.pid("mqtt")
        stack.halt("mqtt")
        assert birth(before) is None
        stack.resume("mqtt")
        assert stack.await_ready("mqtt", other_than=before) != before


def test_an_existing_server_is_used_and_nothing_is_started_for_it(stack: Settings, tmp_path: Path) -> None:
    host, port = stack.mqtt_address
    settings = settings_in(tmp_path).model_copy(
        update={
            "kafka": stack.kafka.model_copy(update={"bootstrap": stack.kafka_bootstrap}),
            "mqtt": stack.mqtt.model_copy(update={"address": f"{host}:{port}"}),
            "postgres": stack.postgres.model_copy(update={"url": stack.postgres_url}),
        }
    )
    with Stack(settings, SERVERS):
        parts = status(settings)
        assert [parts[name]["state"] for name in SERVERS] == ["external"] * 3
        assert not any("pid" in parts[name] for name in SERVERS)


@pytest.mark.parametrize("part", SERVERS)
def test_an_existing_server_that_does_not_answer_is_told_by_address(part: str, tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    nowhere: dict[str, dict[str, Any]] = {
        "kafka": {"kafka": settings.kafka.model_copy(update={"bootstrap": "127.0.0.1:1"})},
        "mqtt": {"mqtt": settings.mqtt.model_copy(update={"address": "127.0.0.1:1"})},
        "postgres": {
            "postgres": settings.postgres.model_copy(update={"url": "postgresql://u@127.0.0.1:1/d"})
        },
    }
    with (
        pytest.raises(StromError, match=r"127\.0\.0\.1:1"),
        Stack(settings.model_copy(update=nowhere[part]), [part]),
    ):
        pytest.fail("a server that is not there must be refused")


def test_a_part_that_needs_another_says_so_when_that_is_not_there(own_settings: Settings) -> None:
    refused = _strom(own_settings, "up", "--only", "bridge")
    assert refused.returncode == 2
    assert own_settings.kafka_bootstrap in refused.stderr


def test_shared_stack_has_the_topics_and_tables_of_the_contract(
    stack: Settings, unique: Callable[[str], str]
) -> None:
    from strom.store.schema import connect
    from strom.streams.admin import topic_names
    from strom.streams.topics import CONTRACT

    assert {topic.name for topic in CONTRACT} <= topic_names(stack)
    with connect(stack.postgres_url) as connection:
        connection.execute("SELECT count(*) FROM load_profile WHERE meter = %s", (unique("meter"),))


def _strom(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "strom", *arguments],
        env=settings.child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_home_that_cannot_be_written_is_refused(own_settings: Settings) -> None:
    blocked = own_settings.home.parent / "file"
    blocked.write_text("in the way", encoding="ascii")
    settings = own_settings.model_copy(update={"home": blocked / "home"})
    refused = _strom(settings, "up", "--only", "mqtt")
    assert refused.returncode == 2
    assert "cannot be written" in refused.stderr
    assert os.fspath(blocked) in refused.stderr
