"""What settings must be to each other; what each must be by itself is said where it is declared."""

import re
from itertools import pairwise
from zoneinfo import ZoneInfo

from strom.domain import dialects, units
from strom.errors import StromError
from strom.settings.gateway import USER_PATTERN
from strom.settings.lake import LATE_MARGIN_DAYS
from strom.settings.model import Settings
from strom.settings.rules import NOT_FALLING, RISING, RuleSettings
from strom.settings.servers import shortest_days


def check(settings: Settings) -> None:
    """Refuse what does not fit together."""
    _check_address(settings)
    _check_late_days(settings)
    check_areas(settings)
    _check_queue(settings)
    _check_zone(settings)
    _check_dialects(settings)
    _check_tasmota_names(settings)
    for name, adapter in settings.adapters.items():
        adapter.check(name)
    _check_users(settings)
    _check_order("rules", settings.rules)
    for name, group in settings.groups.items():
        _check_order(f"groups.{name}", group.over(settings.rules))


def _check_address(settings: Settings) -> None:
    address = settings.mqtt.address
    if address is not None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise StromError(
                f"mqtt.address is {address!r}: write it as host:port, for example 192.168.1.10:1883."
            )


def _check_late_days(settings: Settings) -> None:
    """A late reading is put in its place with the readings and rows around it, so these must still be there."""
    late, lake, months = settings.pipeline.late_days, settings.lake.keep_days, settings.postgres.keep_months
    if late is None:
        return
    if lake is not None and late > lake - LATE_MARGIN_DAYS:
        raise StromError(
            f"pipeline.late_days is {late}, but lake.keep_days is {lake}: late readings are put in their place from "
            f"the lake; choose at most {lake - LATE_MARGIN_DAYS}."
        )
    if months is not None and late > shortest_days(months) - LATE_MARGIN_DAYS:
        raise StromError(
            f"pipeline.late_days is {late}, but postgres.keep_months is {months}: the months of such readings are "
            f"removed; choose at most {shortest_days(months) - LATE_MARGIN_DAYS}."
        )


def check_areas(settings: Settings) -> None:
    """Without any, the choice would silently be the other one."""
    if settings.kafka.partitioner == "area" and not settings.areas:
        raise StromError(
            'kafka.partitioner is "area", but there is none: write [areas.NAME] with meters = ["haus-*", …], '
            'or choose "key".'
        )


def _check_queue(settings: Settings) -> None:
    """Without a limit there is nothing to drop, which somebody who chose what to drop would not expect."""
    mqtt = settings.mqtt
    if mqtt.queue_drops == "oldest" and not mqtt.queue_messages and not mqtt.queue_bytes:
        raise StromError(
            'mqtt.queue_drops is "oldest", but the queue has no limit: set mqtt.queue_messages or mqtt.queue_bytes.'
        )
    if mqtt.queue_drops == "oldest" and settings.bridge.share is not None:
        raise StromError(
            'mqtt.queue_drops is "oldest", but bridges share the load (bridge.share), and none of them knows its own '
            'queue: choose "newest".'
        )


def _check_zone(settings: Settings) -> None:
    name = settings.page.timezone
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise StromError(
            f"page.timezone is {name!r}: there is no such time zone; write it as Europe/Vienna."
        ) from None


def _check_dialects(settings: Settings) -> None:
    for topic_filter, name in settings.dialects.items():
        if name not in dialects.NAMES:
            raise StromError(
                f"dialects: {topic_filter!r} is to be {name!r}, but there is no such dialect; "
                f"there are {', '.join(dialects.NAMES)}."
            )
        if not _is_filter(topic_filter):
            raise StromError(
                f"dialects: {topic_filter!r} is no MQTT topic filter; write levels with / between, + for any one level "
                "and # at the end for all below, such as tele/+/SENSOR."
            )


def _is_filter(text: str) -> bool:
    *before, last = text.split("/")
    levels = [*(level for level in before if level != "+"), *([] if last in ("+", "#") else [last])]
    return text != "" and text[0] != "$" and not any(set("+#\0") & set(level) for level in levels)


def _check_tasmota_names(settings: Settings) -> None:
    for name, told in settings.tasmota_names.items():
        if units.meaning(told) is None:
            raise StromError(
                f"tasmota_names: {name!r} is {told!r}: write a field of a reading and its unit, such as 'import_wh kWh' or "
                f"'net_w W'; fields are {', '.join([*units.UNITS, units.METER_NUMBER])}."
            )


def _check_users(settings: Settings) -> None:
    for name in settings.users:
        if re.fullmatch(USER_PATTERN, name) is None:
            raise StromError(
                f"users.{name} cannot be the name of a user: use up to 64 letters, digits and . _ @ + -, a letter or digit first."
            )


def _check_order(section: str, rules: RuleSettings) -> None:
    """What a group does not set itself is as in `[rules]`, so it is looked at with that."""
    for names in (*NOT_FALLING, *RISING):
        for name, other in pairwise(names):
            value, bound = getattr(rules, name), getattr(rules, other)
            if value > bound or (value == bound and names in RISING):
                few = "less than" if names in RISING else "at most"
                raise StromError(
                    f"{section}.{name} is {value:g}, but {section}.{other} is {bound:g}: "
                    f"choose {few} {bound:g}, or set {other} higher."
                )
