"""`strom alerts send` as people run it: every state of every alert reaches every outlet once in effect."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Event
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from strom.domain.reading import time_text
from strom.settings import Settings
from strom.store.outlet_states import OutletState, outlet_states
from strom.streams.admin import admin_client
from tests.conftest import free_ports
from tests.notify.receivers import Answer, Request, alert, mail_server, receiving, until
from tests.notify.sending import sender_settings, sending, start_sender, tell
from tests.streams.writing import strom

pytestmark = pytest.mark.stack

Unique = Callable[[str], str]


@pytest.fixture
def name(unique: Unique) -> str:
    return unique("sender")


@pytest.fixture
def meter(unique: Unique) -> str:
    return unique("haus")


def story(meter: str) -> list[dict[str, Any]]:
    """An alert that opens, becomes severe and ends; and a change that is not worth telling."""
    opened = alert(f"{meter}-1", meter)
    severe = opened | {"severe": True}
    return [opened, opened | {"value": 5}, severe, severe | {"ended": opened["started"]}]


def keys(meter: str, *states: str) -> list[str]:
    return [f"{meter}-1.{state}" for state in states]


@contextmanager
def subscribed(settings: Settings, topic: str) -> Iterator["Queue[paho.MQTTMessage]"]:
    """What an MQTT client that is not Strom's own gets."""
    received: Queue[paho.MQTTMessage] = Queue()
    ready = Event()
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.on_message = lambda client, data, message: received.put(message)
    client.on_subscribe = lambda *arguments: ready.set()
    client.connect(*settings.mqtt_address)
    client.loop_start()
    client.subscribe(topic, qos=1)
    assert ready.wait(30)
    try:
        yield received
    finally:
        client.disconnect()
        client.loop_stop()


def state_of(settings: Settings, outlet: str) -> OutletState:
    (state,) = outlet_states(settings.postgres_url, [f"{settings.alerts.sender}/{outlet}"])
    return state


def test_every_outlet_hears_what_it_wants_once_also_when_it_is_told_twice(
    stack: Settings, tmp_path: Path, name: str, meter: str
) -> None:
    mine = {"meters": f"{meter}*"}
    mail = mine | {"to": "anna@haus.example", "folder": tmp_path / "post", "quiet_minutes": 0}
    with receiving() as receiver, subscribed(stack, f"{name}/#") as received:
        settings = sender_settings(
            stack,
            tmp_path,
            name,
            webhook=mine | {"url": receiver.url, "secret": "streng-geheim"},
            mqtt=mine | {"topic": name, "severe_only": True},
            mail=mail,
        )
        with sending(settings) as sender:
            other = alert("other", "keller")
            tell(settings, b"\xff not JSON", b"[]", b'{"id": "x"}', b"", other, *story(meter), *story(meter))
            last = alert(f"{meter}-2", f"{meter}/+#x", severe=True)
            tell(settings, last)
            until(lambda: f"{meter}-2.opened" in receiver.keys, "the last alert at the webhook")
            until(lambda: len(receiver.requests) == 4, "all of them at the webhook")
            messages = [received.get(timeout=60) for _ in range(3)]
            files = tmp_path / "post" / "new"
            until(lambda: files.exists() and len(list(files.iterdir())) == 4, "all of them in the folder")
            until(lambda: state_of(settings, "mqtt").delivered == 3, "all of them are noted")
            assert sender.stop() == 0
        # Told again from the first record on, and by a sender that was restarted, nothing is sent twice.
        client = admin_client(settings)
        client.delete_consumer_groups([name])[name].result()
        with sending(settings) as again:
            tell(settings, alert(f"{meter}-3", meter))
            until(lambda: f"{meter}-3.opened" in receiver.keys, "the new alert at the webhook")
            assert again.stop() == 0
    in_order = [key for key in receiver.keys if key.startswith(f"{meter}-1.")]
    assert in_order == keys(meter, "opened", "severe", "ended")
    assert sorted(receiver.keys) == sorted(
        [*keys(meter, "opened", "severe", "ended"), f"{meter}-2.opened", f"{meter}-3.opened"]
    )
    assert {message.topic for message in messages} == {f"{name}/{meter}", f"{name}/{meter}___x"}
    assert all(message.qos == 1 and not message.retain for message in messages)
    told = [json.loads(message.payload)["key"] for message in messages]
    assert [key for key in told if "-1." in key] == keys(meter, "opened", "ended")
    assert received.empty()
    assert sender.log.count("is not an alert and is passed over") >= 4
    assert "webhook: delivered 4, refused 0, tried again 0" in sender.log
    assert "streng-geheim" not in sender.log + again.log
    assert "sesam" not in sender.log + again.log


def test_a_sender_killed_before_it_could_note_sends_that_one_again_with_its_key_and_loses_nothing(
    stack: Settings, tmp_path: Path, name: str, meter: str
) -> None:
    with receiving() as receiver:
        settings = sender_settings(
            stack, tmp_path, name, webhook={"url": receiver.url, "meters": meter, "timeout_seconds": 300}
        )
        receiver.answers = [Answer(), Answer(hang=True)]
        sender = start_sender(settings)
        sender.await_ready()
        tell(settings, *story(meter))
        until(lambda: len(receiver.requests) == 2, "the second request is under way")
        sender.kill()
        with sending(settings):
            until(lambda: len(receiver.requests) == 4, "what was not noted comes again, then the rest")
            until(lambda: state_of(settings, "webhook").waiting == 0, "nothing waits")
        assert receiver.keys == keys(meter, "opened", "severe", "severe", "ended")
        assert receiver.requests[1].body == receiver.requests[2].body


def test_an_outlet_that_is_away_holds_up_nobody_and_gets_everything_in_order_when_it_is_back(
    stack: Settings, tmp_path: Path, name: str, meter: str
) -> None:
    (port,) = free_ports(1)
    settings = sender_settings(
        stack,
        tmp_path,
        name,
        mail={
            "to": "a@b.example",
            "smtp": f"127.0.0.1:{port}",
            "tls": "none",
            "meters": meter,
            "quiet_minutes": 0,
        },
        mqtt={"topic": name, "meters": meter},
    )
    with subscribed(stack, f"{name}/#") as received, sending(settings) as sender:
        tell(settings, *story(meter))
        assert [json.loads(received.get(timeout=60).payload)["state"] for _ in range(3)] == [
            "opened",
            "severe",
            "ended",
        ]
        sender.await_log("mail: 127.0.0.1")
        until(lambda: state_of(settings, "mqtt").delivered == 3, "all of them are noted")
        shown = strom(settings, "alerts", "outlets", "--json").stdout.splitlines()
        mqtt, mail = (json.loads(line) for line in shown)
        assert (mqtt["delivered"], mqtt["waiting"], mqtt["error"]) == (3, 0, None)
        assert (mail["delivered"], mail["waiting"], mail["refused"]) == (0, 3, 0)
        assert mail["error"] == f"127.0.0.1:{port}: Connection refused"
        with mail_server(port) as mailbox:
            until(lambda: len(mailbox.mails) == 3, "all three mails")
            until(lambda: state_of(settings, "mail").delivered == 3, "they are noted")
        assert [mail["Message-ID"] for mail in mailbox.mails] == [
            f"<{key}@localhost>" for key in keys(meter, "opened", "severe", "ended")
        ]
        assert state_of(settings, "mail").error is None


def test_what_is_refused_is_kept_and_what_fails_holds_up_its_own_meter_only(
    stack: Settings, tmp_path: Path, name: str, unique: Unique
) -> None:
    refused, failing, fine = (unique(meter) for meter in ("refused", "failing", "fine"))
    mended = Event()

    def choose(request: Request) -> Answer:
        meter = request.told["alert"]["meter"]
        if mended.is_set() or meter == fine:
            return Answer()
        return Answer(422) if meter == refused else Answer(500)

    with receiving(choose) as receiver:
        meters = ",".join((refused, failing, fine))
        settings = sender_settings(stack, tmp_path, name, webhook={"url": receiver.url, "meters": meters})
        with sending(settings) as sender:
            tell(settings, *(each for meter in (refused, failing, fine) for each in story(meter)))
            until(lambda: f"{fine}-1.ended" in receiver.keys, "the others go on")
            until(lambda: state_of(settings, "webhook").refused == 3, "the refusals are noted")
            sender.await_log("is refused: it answered 422")
            assert f"{failing}-1.severe" not in receiver.keys
            mended.set()
            done = strom(settings, "alerts", "retry", "webhook")
            assert done.stdout == "3 wait again.\n", done.stderr
            until(lambda: state_of(settings, "webhook").delivered == 9, "everything is delivered")
        last = receiver.keys[-9:]
        for meter in (refused, failing):
            assert [key for key in last if key.startswith(meter)][-3:] == keys(
                meter, "opened", "severe", "ended"
            )


def test_a_receiver_that_asks_for_a_pause_gets_it_and_then_the_alert(
    stack: Settings, tmp_path: Path, name: str, meter: str
) -> None:
    with receiving() as receiver:
        settings = sender_settings(stack, tmp_path, name, webhook={"url": receiver.url, "meters": meter})
        receiver.answers = [Answer(429, {"Retry-After": "2"})]
        with sending(settings) as sender:
            tell(settings, alert("p1", meter))
            until(lambda: len(receiver.requests) == 2, "it is tried again")
            assert "it answered 429 Too Many Requests; trying again in 2.0 s" in sender.log


def test_of_two_senders_of_one_name_one_sends_and_the_other_takes_over_when_it_is_gone(
    stack: Settings, tmp_path: Path, name: str, meter: str
) -> None:
    with receiving() as receiver:
        webhook = {"url": receiver.url, "meters": meter}
        first, second = (sender_settings(stack, tmp_path / each, name, webhook=webhook) for each in "ab")
        with sending(first) as one, sending(second) as two:
            two.await_log("webhook: another sender is at work; standing by")
            tell(first, *story(meter))
            until(lambda: state_of(first, "webhook").delivered == 3, "one of them has sent")
            assert one.stop() == 0
            tell(first, alert(f"{meter}-2", meter))
            until(lambda: f"{meter}-2.opened" in receiver.keys, "the other has taken over")
            assert two.stop() == 0
        assert receiver.keys == [*keys(meter, "opened", "severe", "ended"), f"{meter}-2.opened"]


def test_a_test_alert_tells_for_each_outlet_how_it_went_and_no_secret(
    stack: Settings, tmp_path: Path, name: str
) -> None:
    (port,) = free_ports(1)
    mail = {"to": "a@b.example", "smtp": f"127.0.0.1:{port}", "username": "anna", "password": "geheim"}
    with receiving() as receiver, subscribed(stack, f"{name}/#") as received:
        url = receiver.url.replace("//", "//anna:geheim@")
        settings = sender_settings(
            stack, tmp_path, name, webhook={"url": url}, mqtt={"topic": name}, mail=mail
        )
        done = strom(settings, "alerts", "send", "--test")
        assert done.returncode == 1
        host, mqtt_port = stack.mqtt_address
        assert done.stdout.splitlines() == [
            f"webhook to http://127.0.0.1:{receiver.port}/…: delivered",
            f"mqtt to {host}:{mqtt_port} {name}/…: delivered",
            f"mail to 127.0.0.1:{port}: not delivered: 127.0.0.1:{port}: Connection refused",
        ]
        assert receiver.requests[0].told["state"] == "test"
        assert json.loads(received.get(timeout=30).payload)["alert"]["text"] == "Strom can send alerts here."
    shown = strom(settings, "settings").stdout
    assert "geheim" not in shown + done.stdout + done.stderr
    assert "sesam" not in shown


def test_without_an_outlet_or_with_one_that_cannot_be_it_is_one_sentence(
    stack: Settings, tmp_path: Path, name: str
) -> None:
    for outlets, sentence in (
        ({}, "No outlet of alerts is set"),
        ({"mail": {"to": "a@b.example"}}, "set also where they go"),
        ({"mqtt": {"topic": "a/#"}}, "alerts_mqtt.topic is 'a/#'"),
        ({"mqtt": {"topic": "a", "kinds": "volts"}}, "alerts_mqtt.kinds: volts is no kind of alert"),
    ):
        done = strom(sender_settings(stack, tmp_path, name, **outlets), "alerts", "send")
        assert done.returncode == 2
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
    settings = sender_settings(stack, tmp_path, name, mqtt={"topic": "a"})
    assert "'mail' is not an outlet that is set" in strom(settings, "alerts", "retry", "mail").stderr


def test_news_that_are_older_than_wanted_are_not_sent(
    stack: Settings, tmp_path: Path, name: str, meter: str
) -> None:
    with receiving() as receiver:
        settings = sender_settings(stack, tmp_path, name, webhook={"url": receiver.url, "meters": meter})
        with sending(settings):
            tell(settings, alert("old", meter, started=time_text(1_700_000_000_000)), alert("new", meter))
            until(lambda: "new.opened" in receiver.keys, "the new one")
        assert receiver.keys == ["new.opened"]
