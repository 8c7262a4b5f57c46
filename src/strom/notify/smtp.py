"""E-mails by a mail server: one session for as long as there is something to send.

A message that the server answers with 5xx is refused for good; a login or an encryption that fails is the settings'
fault, not the message's, and is tried again.
"""

import contextlib
import logging
import smtplib
import ssl

from strom.errors import StromError
from strom.notify.mail_text import Letterhead
from strom.notify.outlet import Answer, Delivered, Later, Notice, Refused, words_of
from strom.settings import MailSettings

LOG = logging.getLogger("strom.alerts")
TIMEOUT_SECONDS = 20.0
_PERMANENT = 500


class Smtp:
    name = "mail"

    def __init__(self, settings: MailSettings, letterhead: Letterhead) -> None:
        self._settings = settings
        self._letterhead = letterhead
        self._host, self._port = _host_and_port(settings.smtp or "")
        self._context = None if settings.tls == "none" else _context(settings)
        self._session: smtplib.SMTP | None = None

    @property
    def address(self) -> str:
        return f"{self._host}:{self._port}"

    def send(self, notice: Notice) -> Answer:
        try:
            session = self._connected()
        except (OSError, smtplib.SMTPException, ValueError) as error:
            self.rest()
            return Later(f"{self.address}: {_said(error)}")
        try:
            turned_away = session.send_message(self._letterhead.message(notice))
        except smtplib.SMTPServerDisconnected as error:
            self.rest()
            return Later(f"{self.address}: {_said(error)}")
        except smtplib.SMTPRecipientsRefused as error:
            codes = [code for code, _ in error.recipients.values()]
            why = f"{self.address}: {_told(next(iter(error.recipients.values())))}"
            return Refused(why) if min(codes) >= _PERMANENT else Later(why)
        except smtplib.SMTPResponseException as error:
            why = f"{self.address}: {_said(error)}"
            return Refused(why) if error.smtp_code >= _PERMANENT else Later(why)
        except smtplib.SMTPNotSupportedError as error:  # an address that this server cannot write
            return Refused(f"{self.address}: {_said(error)}")
        except OSError as error:
            self.rest()
            return Later(f"{self.address}: {_said(error)}")
        return Delivered("; ".join(f"{who} was refused ({_told(why)})" for who, why in turned_away.items()))

    def rest(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(OSError, smtplib.SMTPException):
                session.quit()
            session.close()

    def _connected(self) -> smtplib.SMTP:
        if self._session is None:
            if self._settings.tls == "tls":
                self._session = smtplib.SMTP_SSL(
                    self._host, self._port, timeout=TIMEOUT_SECONDS, context=self._context
                )
            else:
                self._session = smtplib.SMTP(self._host, self._port, timeout=TIMEOUT_SECONDS)
            if self._settings.tls == "starttls":
                self._session.starttls(context=self._context)
            if self._settings.username is not None:
                self._session.login(self._settings.username, self._settings.password or "")
        return self._session


def _context(settings: MailSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(settings.ca_file) if settings.ca_file else None)
    except OSError as error:
        raise StromError(
            f"cannot read the certificate authority {settings.ca_file} ({words_of(error)}); correct alerts_mail.ca_file."
        ) from None


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise StromError(
            f"alerts_mail.smtp is {address!r}: write it as host:port, for example mail.example.org:587."
        )
    return host.strip("[]"), int(port)


def _said(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return _told((error.smtp_code, error.smtp_error))
    return words_of(error)


def _told(answer: tuple[int, bytes | str]) -> str:
    code, text = answer
    words = text.decode(errors="replace") if isinstance(text, bytes) else text
    return f"{code} {' '.join(words.split())[:200]}"
