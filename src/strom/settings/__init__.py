"""All settings in one frozen object, and the only reader of the environment.

`strom.toml` in the working folder, then `STROM_…` variables, then flags: the later wins. Every setting has its
default and its meaning in one section here and nowhere else; `docs/settings.md` is checked against it.
"""

from strom.settings.described import Described, described, setting_names
from strom.settings.gateway import USER_PATTERN, GatewaySettings, PasswordHash, UserSettings
from strom.settings.groups import MeterRules
from strom.settings.lake import LakeSettings
from strom.settings.load import FILE_NAME, load_settings, users_come_from_file
from strom.settings.model import ENV_PREFIX, PageSettings, PipelineSettings, Settings, SqlSettings
from strom.settings.outlets import (
    AlertMqttSettings,
    AlertsSettings,
    MailSettings,
    OutletSettings,
    WebhookSettings,
)
from strom.settings.rules import GroupSettings, RuleSettings
from strom.settings.section import shown_url
from strom.settings.servers import (
    DEFAULT_SCHEMA,
    SAFE_COPIES,
    SCHEMA_PATTERN,
    BridgeSettings,
    KafkaSettings,
    MqttSettings,
    PostgresSettings,
)
from strom.settings.spark import EMBEDDED_CLUSTER, SparkSettings
from strom.settings.surroundings import has_display, java_home

__all__ = [
    "DEFAULT_SCHEMA",
    "EMBEDDED_CLUSTER",
    "ENV_PREFIX",
    "FILE_NAME",
    "SAFE_COPIES",
    "SCHEMA_PATTERN",
    "USER_PATTERN",
    "AlertMqttSettings",
    "AlertsSettings",
    "BridgeSettings",
    "Described",
    "GatewaySettings",
    "GroupSettings",
    "KafkaSettings",
    "LakeSettings",
    "MailSettings",
    "MeterRules",
    "MqttSettings",
    "OutletSettings",
    "PageSettings",
    "PasswordHash",
    "PipelineSettings",
    "PostgresSettings",
    "RuleSettings",
    "Settings",
    "SparkSettings",
    "SqlSettings",
    "UserSettings",
    "WebhookSettings",
    "described",
    "has_display",
    "java_home",
    "load_settings",
    "setting_names",
    "shown_url",
    "users_come_from_file",
]
