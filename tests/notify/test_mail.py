"""Alerts as e-mail: complete messages, by a real mail server or as files in a folder."""

import ssl
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from strom.domain.notices import State
from strom.errors import StromError
from strom.notify.mail_folder import MailFolder
from strom.notify.mail_text import Letterhead, subject
from strom.notify.outlet import Delivered, Later, Refused
from strom.notify.smtp import Smtp
from strom.settings import MailSettings
from tests.conftest import free_ports
from tests.notify.receivers import Mailbox, mail_server, notice

HEAD = Letterhead("Strom <strom@haus.example>", "anna@haus.example, Bärbel <b@haus.example>", "Europe/Vienna")


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


@pytest.fixture
def mailbox(port: int) -> Iterator[Mailbox]:
    with mail_server(port) as found:
        yield found


def smtp(port: int, **more: Any) -> Smtp:
    settings = {"to": "x@haus.example", "smtp": f"127.0.0.1:{port}", "tls": "none"} | more
    return Smtp(MailSettings.model_validate(settings), HEAD)


def test_a_mail_is_complete_and_the_same_at_every_attempt() -> None:
    told = notice(
        "a1",
        State.ENDED,
        root="a0.opened",
        meter="zähler-1",
        part="l1",
        value=190.5,
        severe=True,
        started="2026-11-15T11:00:00Z",
        ended="2026-11-15T11:20:00Z",
    )
    first, again = bytes(HEAD.message(told)), bytes(HEAD.message(told))
    assert first == again
    mail = message_from_bytes(first, policy=default)
    assert mail["Message-ID"] == "<a1.ended@haus.example>"
    assert mail["In-Reply-To"] == mail["References"] == "<a0.opened@haus.example>"
    assert mail["Subject"] == "[Strom] Over: zähler-1: silent l1 (severe)"
    assert mail["To"] == "anna@haus.example, Bärbel <b@haus.example>"
    assert mail["Date"] == "Sun, 15 Nov 2026 11:00:00 +0000"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_content_type() == "text/plain"
    assert mail.get_content().replace("\r\n", "\n") == (
        "zähler-1 sends nothing – is it plugged in?\n\nThis alert is over.\n\n"
        "Meter: zähler-1\nKind:  silent (severe)\nAbout: l1\nSince: 2026-11-15 12:00:00 CET\n"
        "Until: 2026-11-15 12:20:00 CET\nValue: 190.5\nLimit: 90\nAlert: a1\n"
    )
    assert max(map(len, first.splitlines())) <= 100


def test_an_opening_answers_nothing() -> None:
    mail = HEAD.message(notice())
    assert (mail["In-Reply-To"], mail["References"]) == (None, None)
    assert mail["Subject"] == "[Strom] haus-1: silent"


def test_a_name_from_outside_cannot_begin_a_header() -> None:
    evil = notice("a1>\r\nBcc: x@evil.example", meter="m\r\nBcc: y@evil.example", text="t\r\n.\r\nRSET")
    mail = message_from_bytes(bytes(HEAD.message(evil)), policy=default)
    assert mail["Bcc"] is None
    assert subject(evil) == "[Strom] m Bcc: y@evil.example: silent"
    assert mail.get_content().startswith("t . RSET\r\n")


@pytest.mark.parametrize("wrong", ["", "anna", "anna@", "@haus.example", "a@b, nobody"])
def test_what_is_no_address_is_one_sentence(wrong: str) -> None:
    with pytest.raises(StromError, match=r"alerts_mail\.to is"):
        Letterhead("strom@localhost", wrong, "UTC")


def test_mails_go_to_the_server_in_one_session(port: int, mailbox: Mailbox) -> None:
    outlet = smtp(port)
    assert [outlet.send(notice(name)) for name in ("a1", "a2")] == [Delivered(), Delivered()]
    outlet.rest()
    assert outlet.send(notice("a3")) == Delivered()
    outlet.rest()
    assert [mail["Message-ID"] for mail in mailbox.mails] == [
        f"<a{n}.opened@haus.example>" for n in (1, 2, 3)
    ]


def test_what_the_server_says_decides(port: int, mailbox: Mailbox) -> None:
    outlet = smtp(port)
    mailbox.refusals = ["552 too much", "451 not now"]
    assert outlet.send(notice()) == Refused(f"127.0.0.1:{port}: 552 too much")
    assert outlet.send(notice()) == Later(f"127.0.0.1:{port}: 451 not now")
    assert outlet.send(notice()) == Delivered()
    mailbox.bad_recipients = ("b@haus.example",)
    assert outlet.send(notice("a2")) == Delivered("b@haus.example was refused (550 no such user)")
    mailbox.bad_recipients = ("b@haus.example", "anna@haus.example")
    assert outlet.send(notice("a3")) == Refused(f"127.0.0.1:{port}: 550 no such user")
    outlet.rest()


def test_a_server_that_went_away_is_called_anew(port: int) -> None:
    outlet = smtp(port)
    with mail_server(port):
        assert outlet.send(notice()) == Delivered()
    lost = outlet.send(notice())
    assert isinstance(lost, Later)
    away = outlet.send(notice())
    assert away == Later(f"127.0.0.1:{port}: Connection refused")
    with mail_server(port) as mailbox:
        assert outlet.send(notice()) == Delivered()
        outlet.rest()
        assert len(mailbox.mails) == 1


def _only_anna(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
    return AuthResult(success=(data.login, data.password) == (b"anna", b"richtig"), handled=False)


def test_login_and_encryption(port: int, certificate: tuple[Path, Path]) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    options = {"tls_context": context, "authenticator": _only_anna, "auth_required": True}
    given = {"tls": "starttls", "ca_file": certificate[0], "username": "anna"}
    with mail_server(port, **options) as mailbox:
        good = smtp(port, **given, password="richtig")
        assert good.send(notice()) == Delivered()
        good.rest()
        wrong = smtp(port, **given, password="falsch").send(notice())
        assert isinstance(wrong, Later)
        assert "535" in wrong.why
        assert "falsch" not in wrong.why
        stranger = smtp(port, tls="starttls").send(notice())
        assert isinstance(stranger, Later)
        assert "certificate" in stranger.why
        assert len(mailbox.mails) == 1


def test_a_server_without_the_encryption_that_is_asked_for_gets_nothing(port: int, mailbox: Mailbox) -> None:
    answer = smtp(port, tls="starttls").send(notice())
    assert isinstance(answer, Later)
    assert "STARTTLS" in answer.why
    assert mailbox.mails == []


def test_a_mail_in_the_folder_is_there_once_and_never_half(tmp_path: Path) -> None:
    outlet = MailFolder(tmp_path / "post", HEAD)
    assert [outlet.send(notice()) for _ in range(2)] == [Delivered(), Delivered()]
    assert outlet.send(notice("../../etc/passwd")) == Delivered()
    files = sorted((tmp_path / "post" / "new").iterdir())
    assert len(files) == 2
    assert files[-1].name == "a1.opened.eml"
    assert (
        message_from_bytes(files[-1].read_bytes(), policy=default)["Message-ID"] == "<a1.opened@haus.example>"
    )
    assert list((tmp_path / "post" / "tmp").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    blocked = tmp_path / "post"
    blocked.write_text("in the way")
    outlet = MailFolder(blocked, HEAD)
    assert isinstance(outlet.send(notice()), Later)
    blocked.unlink()
    assert outlet.send(notice()) == Delivered()
