"""The sender of alerts as a part of the stack: Kafka or Postgres may be killed, and every alert arrives."""

from pathlib import Path

import pytest

from strom.settings import Settings, WebhookSettings
from strom.stack.catalogue import ALL, choose, usual
from strom.stack.state import status
from strom.stack.supervisor import Stack
from tests.conftest import settings_in
from tests.notify.receivers import alert, receiving, until
from tests.notify.sending import tell
from tests.streams.writing import strom


def with_webhook(settings: Settings, url: str) -> Settings:
    return settings.model_copy(update={"alerts_webhook": WebhookSettings(url=url)})


def test_the_sender_is_a_part_of_the_stack_only_where_it_has_somewhere_to_send(
    own_settings: Settings,
) -> None:
    assert usual(own_settings) == list(ALL)
    assert "alerts" not in status(own_settings)
    sends = with_webhook(own_settings, "http://127.0.0.1/geheim")
    assert usual(sends) == [*ALL, "alerts"]
    assert status(sends)["alerts"] == {"state": "stopped", "address": "webhook", "restarts": 0}
    assert [part.name for part in choose(sends, ["alerts"])] == ["alerts"]


@pytest.mark.stack
def test_without_an_outlet_the_part_is_refused_with_a_sentence(own_settings: Settings) -> None:
    done = strom(own_settings, "up", "--only", "alerts")
    assert done.returncode == 2
    assert "alerts needs an outlet: set alerts_webhook.url" in done.stderr


@pytest.mark.stack
def test_killed_servers_lose_and_double_nothing(tmp_path: Path) -> None:
    with receiving() as receiver:
        settings = with_webhook(settings_in(tmp_path / "home"), receiver.url)
        with Stack(settings, ["kafka", "postgres", "alerts"]) as stack:
            expected = []
            for number, part in enumerate(("kafka", "postgres", None)):
                tell(settings, alert(f"a{number}", "haus-1"))
                expected.append(f"a{number}.opened")
                until(lambda number=number: f"a{number}.opened" in receiver.keys, f"alert {number} arrives")  # type: ignore[misc]
                if part is not None:
                    gone = stack.kill(part)
                    stack.await_ready(part, other_than=gone)
        # A kill may fall between the receiver's yes and the note of it: then the same key comes again.
        assert list(dict.fromkeys(receiver.keys)) == expected
        assert len(receiver.keys) <= len(expected) + 2
