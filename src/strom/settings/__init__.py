"""All settings in one frozen object, and the only reader of the environment.

`strom.toml` in the working folder, then `STROM_…` variables, then flags: the later wins. Every setting has its
default and its meaning in one section here and nowhere else; `docs/settings.md` is checked against it.
"""

from strom.settings.adapters import MODBUS, REST, AdapterSettings, PollSettings
from strom.settings.checks import check_areas
from strom.settings.described import Described, described, setting_names
from strom.settings.gateway import USER_PATTERN, GatewaySettings, PasswordHash, UserSettings
from strom.settings.groups import MeterAreas, MeterRules
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
from strom.settings.sending import AreaSettings, PartsSettings
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
    "MODBUS",
    "REST",
    "SAFE_COPIES",
    "SCHEMA_PATTERN",
    "USER_PATTERN",
    "AdapterSettings",
    "AlertMqttSettings",
    "AlertsSettings",
    "AreaSettings",
    "BridgeSettings",
    "Described",
    "GatewaySettings",
    "GroupSettings",
    "KafkaSettings",
    "LakeSettings",
    "MailSettings",
    "MeterAreas",
    "MeterRules",
    "MqttSettings",
    "OutletSettings",
    "PageSettings",
    "PartsSettings",
    "PasswordHash",
    "PipelineSettings",
    "PollSettings",
    "PostgresSettings",
    "RuleSettings",
    "Settings",
    "SparkSettings",
    "SqlSettings",
    "UserSettings",
    "WebhookSettings",
    "check_areas",
    "described",
    "has_display",
    "java_home",
    "load_settings",
    "setting_names",
    "shown_url",
    "users_come_from_file",
]
