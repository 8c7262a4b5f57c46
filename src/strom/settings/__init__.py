"""All settings in one frozen object, and the only reader of the environment.

`strom.toml` in the working folder, then `STROM_…` variables, then flags: the later wins. Every setting has its
default and its meaning in `model.py` and nowhere else; `docs/settings.md` is checked against it.
"""

from strom.settings.described import Described, described, setting_names
from strom.settings.load import FILE_NAME, load_settings
from strom.settings.model import (
    ENV_PREFIX,
    BridgeSettings,
    KafkaSettings,
    MqttSettings,
    PageSettings,
    PipelineSettings,
    PostgresSettings,
    RuleSettings,
    Settings,
    SparkSettings,
)
from strom.settings.outlets import (
    AlertMqttSettings,
    AlertsSettings,
    MailSettings,
    OutletSettings,
    WebhookSettings,
)
from strom.settings.section import shown_url
from strom.settings.surroundings import has_display, java_home

__all__ = [
    "ENV_PREFIX",
    "FILE_NAME",
    "AlertMqttSettings",
    "AlertsSettings",
    "BridgeSettings",
    "Described",
    "KafkaSettings",
    "MailSettings",
    "MqttSettings",
    "OutletSettings",
    "PageSettings",
    "PipelineSettings",
    "PostgresSettings",
    "RuleSettings",
    "Settings",
    "SparkSettings",
    "WebhookSettings",
    "described",
    "has_display",
    "java_home",
    "load_settings",
    "setting_names",
    "shown_url",
]
