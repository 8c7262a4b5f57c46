"""Alerts by HTTP: what is sent, and what each answer of a real server means."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest

from strom.domain.notices import State
from strom.errors import StromError
from strom.notify.outlet import Delivered, Later, Refused
from strom.notify.webhook import LONGEST_PAUSE, Webhook, answer_to
from strom.settings import WebhookSettings
from tests.conftest import free_ports
from tests.notify.receivers import Answer, Receiver, notice, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def webhook(url: str, **more: object) -> Webhook:
    return Webhook(WebhookSettings.model_validate({"url": url, "timeout_seconds": 10} | more))


def test_a_request_carries_the_alert_and_a_key_that_is_the_same_at_every_attempt(receiver: Receiver) -> None:
    outlet, told = webhook(receiver.url), notice("b7", State.ENDED, root="a1.opened", meter="zähler")
    assert [outlet.send(told), outlet.send(told)] == [Delivered(), Delivered()]
    first, again = receiver.requests
    assert (first.path, first.headers["content-type"]) == ("/hook?token=sesam", "application/json")
    assert first.key == again.key == first.headers["webhook-id"] == "b7.ended"
    assert first.body == again.body
    assert json.loads(first.body) == {
        "v": 1,
        "key": "b7.ended",
        "state": "ended",
        "incident": "a1",
        "alert": told.alert,
    }
    assert "webhook-signature" not in first.headers


@pytest.mark.parametrize(
    ("secret", "key"),
    [("streng geheim", b"streng geheim"), ("whsec_" + base64.b64encode(b"\x00\xff").decode(), b"\x00\xff")],
)
def test_with_a_secret_the_receiver_can_tell_that_it_is_from_strom(
    receiver: Receiver, secret: str, key: bytes
) -> None:
    webhook(receiver.url, secret=secret).send(notice())
    (request,) = receiver.requests
    signed = f"{request.key}.{request.headers['webhook-timestamp']}.".encode() + request.body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{expected}"
    assert secret not in str(request)


def test_a_name_and_password_in_the_address_become_a_login(receiver: Receiver) -> None:
    webhook(f"http://anna:p%40ss@127.0.0.1:{receiver.port}/").send(notice())
    login = base64.b64encode(b"anna:p@ss").decode()
    assert receiver.requests[0].headers["authorization"] == f"Basic {login}"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (204, Delivered),
        (299, Delivered),
        (400, Refused),
        (410, Refused),
        (408, Later),
        (429, Later),
        (503, Later),
    ],
)
def test_what_a_status_means(receiver: Receiver, status: int, kind: type[object]) -> None:
    receiver.answers = [Answer(status)]
    assert isinstance(webhook(receiver.url).send(notice()), kind)


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    with receiving() as elsewhere:
        receiver.answers = [Answer(307, {"Location": elsewhere.url})]
        answer = webhook(receiver.url).send(notice())
        assert isinstance(answer, Later)
        assert "redirects are not followed, correct alerts_webhook.url" in answer.why
        assert elsewhere.requests == []


def test_a_server_that_hangs_is_left_when_the_time_is_over(receiver: Receiver) -> None:
    receiver.answers = [Answer(hang=True)]
    answer = webhook(receiver.url, timeout_seconds=0.3).send(notice())
    assert answer == Later(f"http://127.0.0.1:{receiver.port}/…: no answer within 0.3 s")


def test_a_server_that_is_not_there_is_tried_again_and_its_secrets_stay_untold() -> None:
    (port,) = free_ports(1)
    answer = webhook(f"http://anna:geheim@127.0.0.1:{port}/T0KEN?key=k3y").send(notice())
    assert answer == Later(f"http://127.0.0.1:{port}/…: Connection refused")


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("7", 7.0), ("99999999999", LONGEST_PAUSE), ("soon", None), ("", None), (None, None), ("-3", None)],
)
def test_a_receiver_may_say_when_to_come_back(told: str | None, seconds: float | None) -> None:
    answer = answer_to(429, told, time.time())
    assert isinstance(answer, Later)
    assert answer.after == seconds


def test_a_receiver_may_name_the_time_to_come_back() -> None:
    now = 1_794_740_400.0
    assert answer_to(503, formatdate(now + 40, usegmt=True), now) == Later(
        "it answered 503 Service Unavailable", 40.0
    )
    assert answer_to(503, formatdate(now - 40, usegmt=True), now) == Later(
        "it answered 503 Service Unavailable", 0.0
    )


@pytest.mark.parametrize(
    "url", ["hooks.example.org", "ftp://a/b", "http://", "http://a:b/", "http://[/", "http://a/b c\n"]
)
def test_what_is_no_address_is_one_sentence(url: str) -> None:
    with pytest.raises(StromError, match=r"alerts_webhook\.url is no http"):
        webhook(url)


def test_a_secret_that_was_copied_badly_is_one_sentence_without_it() -> None:
    with pytest.raises(StromError, match=r"alerts_webhook\.secret") as refused:
        webhook("http://a/", secret="whsec_é%%")
    assert "é%%" not in str(refused.value)
