"""An alert as an e-mail: a complete message, the same at every attempt, that mail programs file with its alert.

Its Message-ID is made of the alert and its state, so that a repeat is recognised; the end answers the opening.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, getaddresses
from typing import Any
from zoneinfo import ZoneInfo

from strom.domain.notices import State
from strom.errors import StromError
from strom.notify.outlet import Notice, plain_key

_BEGINNINGS = {
    State.OPENED: "",
    State.SEVERE: "Severe now: ",
    State.ENDED: "Over: ",
    State.WITHDRAWN: "Withdrawn: ",
    State.TEST: "Test: ",
}
_EXPLAINED = {
    State.SEVERE: "This alert has become severe.",
    State.ENDED: "This alert is over.",
    State.WITHDRAWN: "This alert is withdrawn: readings that came late show that it never was so.",
    State.TEST: "This is a test; nothing has happened.",
}


class Letterhead:
    """Whom the mails are from and to."""

    def __init__(self, sender: str, to: str, timezone: str) -> None:
        self.sender = _addresses(sender, "alerts_mail.sender")[0]
        self.to = _addresses(to, "alerts_mail.to")
        self._zone = ZoneInfo(timezone)

    def message(self, notice: Notice) -> EmailMessage:
        mail = EmailMessage(policy=SMTP)
        mail["From"] = self.sender
        mail["To"] = self.to
        mail["Subject"] = subject(notice)
        mail["Date"] = format_datetime(notice.noted.astimezone(UTC))
        mail["Message-ID"] = self._id(notice.key)
        if notice.root is not None:
            mail["In-Reply-To"] = self._id(notice.root)
            mail["References"] = self._id(notice.root)
        mail["Auto-Submitted"] = "auto-generated"  # keeps absence notices from answering
        mail.set_content(self._text(notice), cte="quoted-printable")
        return mail

    def _id(self, key: str) -> str:
        return f"<{plain_key(key)}@{self.sender.domain or 'localhost'}>"

    def _text(self, notice: Notice) -> str:
        alert = notice.alert
        lines = [_one_line(alert["text"]), ""]
        if notice.state in _EXPLAINED:
            lines += [_EXPLAINED[notice.state], ""]
        facts = {
            "Meter": alert["meter"],
            "Kind": f"{alert['kind']}{' (severe)' if alert.get('severe') else ''}",
            "About": alert.get("part"),
            "Since": self._time(alert, "started"),
            "Until": self._time(alert, "ended"),
            "Value": alert.get("value"),
            "Limit": alert.get("threshold"),
            "Alert": alert["id"],
        }
        lines += [f"{name + ':':<7}{_one_line(fact)}" for name, fact in facts.items() if fact is not None]
        return "\n".join((*lines, ""))

    def _time(self, alert: Mapping[str, Any], name: str) -> str | None:
        if alert.get(name) is None or (name == "ended" and alert.get("withdrawn")):
            return None
        return f"{datetime.fromisoformat(alert[name]).astimezone(self._zone):%Y-%m-%d %H:%M:%S %Z}"


def subject(notice: Notice) -> str:
    alert = notice.alert
    severe = " (severe)" if alert.get("severe") else ""
    part = f" {alert['part']}" if alert.get("part") else ""
    return _one_line(f"[Strom] {_BEGINNINGS[notice.state]}{alert['meter']}: {alert['kind']}{part}{severe}")[
        :200
    ]


def _one_line(value: object) -> str:
    """Names come from outside: no line break of theirs may begin a header."""
    return " ".join("".join(char if char.isprintable() else " " for char in str(value)).split())


def _addresses(text: str, setting: str) -> tuple[Address, ...]:
    found = []
    for name, spec in getaddresses([text]):
        try:
            address = Address(display_name=name, addr_spec=spec)
        except (MessageError, ValueError, IndexError):
            address = Address()
        if not address.username or not address.domain or "." in (spec[:1], spec[-1:]):
            raise StromError(f"{setting} is {text!r}: write it as name@example.org, several with commas.")
        found.append(address)
    if not found:
        raise StromError(f"{setting} is {text!r}: write it as name@example.org, several with commas.")
    return tuple(found)
