"""The settings of where alerts are sent: one section an outlet, each with what it wants to hear of.

An outlet is set when its address is: the URL, the MQTT topic, the recipients.
"""

from pathlib import Path
from typing import Literal

from pydantic import Field

from strom.settings.section import Section


class AlertsSettings(Section):
    sender: str = Field(
        "strom-alerts",
        min_length=1,
        description="Name of the sender of alerts: its consumer group, and what is delivered is remembered under it; a second sender with other outlets needs another name.",
    )
    oldest_hours: int = Field(
        24,
        ge=1,
        description="An alert that happened longer ago when the sender first hears of it is not sent.",
    )
    keep_days: int = Field(
        30,
        ge=1,
        description="How long deliveries are remembered, and one to an outlet that is away is tried.",
    )


class OutletSettings(Section):
    kinds: str = Field("*", description="Kinds of alerts to send, with shell patterns: silent,volt*.")
    meters: str = Field("*", description="Meters whose alerts to send, with shell patterns: haus-*,keller.")
    severe_only: bool = Field(False, description="Send only alerts that are severe.")
    quiet_minutes: float = Field(
        0,
        ge=0,
        le=1440,
        description="An alert that comes back within this time is not told anew; ends are told this much later.",
    )

    @property
    def is_set(self) -> bool:
        raise NotImplementedError


class WebhookSettings(OutletSettings):
    url: str | None = Field(None, description="Where to POST alerts as JSON; empty is no webhook.")
    secret: str | None = Field(
        None, description="Signs each request (Standard Webhooks: text, or base64 after whsec_)."
    )
    timeout_seconds: float = Field(10, gt=0, le=300, description="How long one request may take.")

    @property
    def is_set(self) -> bool:
        return bool(self.url)


class AlertMqttSettings(OutletSettings):
    topic: str | None = Field(
        None,
        description="MQTT topic to publish alerts below, such as strom/alerts; the meter is the last level. Empty is none.",
    )

    @property
    def is_set(self) -> bool:
        return bool(self.topic)


class MailSettings(OutletSettings):
    to: str | None = Field(None, description="Recipients of alerts by e-mail, addr,…; empty is no e-mail.")
    sender: str = Field("strom@localhost", description="Address that the e-mails are from.")
    folder: Path | None = Field(
        None, description="Folder to write the e-mails into as .eml files, for another program to send."
    )
    smtp: str | None = Field(None, description="host:port of the mail server to send them by.")
    tls: Literal["none", "starttls", "tls"] = Field(
        "starttls", description="How the mail server speaks TLS: starttls, tls from the first byte, or none."
    )
    ca_file: Path | None = Field(
        None, description="Certificate authority that signed the mail server's certificate."
    )
    username: str | None = Field(None, description="User name at the mail server.")
    password: str | None = Field(None, description="Password at the mail server.")
    quiet_minutes: float = Field(
        10,
        ge=0,
        le=1440,
        description="An alert that comes back within this time is not told anew; ends are told this much later.",
    )

    @property
    def is_set(self) -> bool:
        return bool(self.to)
