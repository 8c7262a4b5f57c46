"""What Tasmota's smart meter interface says on `tele/NAME/SENSOR`: a time, and an object with the values of a meter.

The owner's script chooses the names of the values and their units. Those of the scripts that Tasmota, evcc and makers of
reading heads hand out are the table here; more can be told in the settings (`tasmota_names`).
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from strom.devices.reading_of import Measured, Said, is_plain_key, reading_of
from strom.devices.strict_json import sent_text, strict_object
from strom.domain import dialects, values
from strom.domain import reading as rules
from strom.domain.obis import MEASURED, Kind
from strom.domain.reading import Rejected
from strom.domain.units import METER_NUMBER, NET_W, Meaning, meaning
from strom.settings import PageSettings

DIALECT = dialects.TASMOTA_SML

# What a value is, with its unit, and the names that well-known scripts give it.
WELL_KNOWN: dict[str, tuple[str, ...]] = {
    "import_wh kWh": (
        "e_in", "total_in", "total", "total_kwh", "counter", "counter_pos", "energy", "energy_sum", "energy_import",
        "energy_imported", "enrg_imp", "importactive", "kwh_in", "power_total_in", "total_consumed_kwh",
        "pos_wirk_tariflos", "verbrauch_summe", "gesamtverbrauch",
    ),
    "export_wh kWh": (
        "e_out", "total_out", "en_out", "supply", "counter_neg", "energy_supply", "energy_export", "energy_exported",
        "enrg_exp", "exportactive", "kwh_out", "power_total_out", "total_delivered_kwh", "export_total_kwh",
        "neg_wirk_tariflos", "einspeisung_summe", "gesamteinspeisung",
    ),
    "import_t1_wh kWh": (
        "total_t1", "ht_total_in", "enrg_imp_t1", "kwh_in_t1", "pos_wirk_tarif_1", "verbrauch_t1", "energy_tarif1",
    ),
    "import_t2_wh kWh": (
        "total_t2", "nt_total_in", "enrg_imp_t2", "kwh_in_t2", "pos_wirk_tarif_2", "verbrauch_t2", "energy_tarif2",
    ),
    "export_t1_wh kWh": ("supply_t1", "enrg_exp_t1", "kwh_out_t1", "neg_wirk_tarif_1"),
    "export_t2_wh kWh": ("supply_t2", "enrg_exp_t2", "kwh_out_t2", "neg_wirk_tarif_2"),
    "reactive_import_varh kvarh": ("kvarh_in", "nrg_reac_imp"),
    "reactive_export_varh kvarh": ("kvarh_out", "nrg_reac_exp"),
    "net_w W": (
        "power", "power_curr", "power_cur", "power_total", "power_actual", "leistung", "watt_summe",
        "momentanwirkleistung", "current_consumption", "p_l1_l2_l3", "16_7_0",
    ),
    "import_w W": ("power_in", "p_in", "power_import"),
    "import_w kW": ("kw_in", "pwr_imp"),
    "export_w W": ("power_out", "p_out", "power_export"),
    "export_w kW": ("kw_out", "pwr_exp"),
    "frequency_hz Hz": ("freq", "frequency", "frequenz", "hz"),
    "power_factor": ("factor", "power_factor_total", "leistungsfaktor"),
    METER_NUMBER: (
        "meter_number", "meter_id", "server_id", "serial", "serial_number", "serialnr", "id", "96_1_0", "zaehlernummer",
    ),
}  # fmt: skip
# The same with the number of the phase in the braces.
BY_PHASE: dict[str, tuple[str, ...]] = {
    "voltage_l{}_v V": (
        "volt_p{}", "volt_l{}", "volt_l{}_curr", "volts_l{}", "v_l{}", "voltage_l{}", "voltage_p{}", "voltage_phase{}",
    ),
    "current_l{}_a A": (
        "amperage_p{}", "amperage_l{}", "amperage_l{}_curr", "curr_p{}", "i_l{}", "current_l{}", "current_p{}",
        "current_phase{}",
    ),
}  # fmt: skip

# Where a value is named after its OBIS code (1_8_0), counters are in kWh and the others in their own unit.
_BY_CODE = {
    register.code.replace(".", "_"): Meaning(register.field, 1000 if register.kind is Kind.COUNTER else 1)
    for register in MEASURED
}
_BY_NAME = {
    name.format(phase): told
    for phase in (1, 2, 3)
    for text, names in (WELL_KNOWN | BY_PHASE).items()
    if (told := meaning(text.format(phase)))
    for name in names
}

_TIME = "Time"
_STATUS = "StatusSNS"  # the same message as the answer to a question, on `stat/NAME/STATUS10`
_PLUG = "TotalStartTime"  # what the meter of a plug has, and none that a script reads
_PREFIXES = frozenset({"tele", "stat"})
_SAYINGS = frozenset({"SENSOR", "STATUS8", "STATUS10"})
_EPOCH = datetime.fromtimestamp(0, UTC)


def decode(
    payload: bytes,
    *,
    received_ms: int,
    source: str = "mqtt",
    topic: str | None = None,
    names: Mapping[str, str] | None = None,
    zone: str = PageSettings().timezone,
) -> dict[str, Any]:
    """The reading that a message says; Rejected with its reason if it says none.

    `names` are those of the owner's own script, as the settings tell them; `zone` is that of the device's clock.
    """
    message = strict_object(payload)
    if isinstance(message.get(_STATUS), dict):
        message = message[_STATUS]
    known = _known(names or {})
    meters = {name: each for name, each in message.items() if isinstance(each, dict) and _PLUG not in each}
    meter = next((name for name, each in meters.items() if _measures(each, known)), None)
    if meter is None:
        raise Rejected(rules.NO_KNOWN_REGISTER)
    numbers, net_w = _numbers(meters[meter], known)
    unheard = _is_unheard(numbers, net_w)
    said = Said(
        numbers={} if unheard else numbers,
        ids=_ids(meters[meter], known),
        other=_other(meters, meter, known),
        times=_times(message.get(_TIME), zone),
        name=values.name(_device(topic or "")),
        level=values.topic_name(topic),
        net_w=None if unheard else net_w,
        unreadable=unheard,
    )
    return reading_of(said, received_ms=received_ms, source=source)


def key_of(topic: str) -> str:
    """The device's name in `tele/NAME/SENSOR`; on any other topic the last level."""
    return _device(topic) or values.last_level(topic)


def plain(name: str) -> str:
    """A name as it stands in the tables: how an owner writes it makes no difference."""
    return name.strip().casefold().replace("-", "_").replace(".", "_")


def _device(topic: str) -> str | None:
    *levels, last = topic.split("/")
    names = [level for level in levels if level and level not in _PREFIXES]
    return names[-1] if names and last in _SAYINGS else None


def _known(names: Mapping[str, str]) -> dict[str, Meaning]:
    own = {plain(name): told for name, text in names.items() if (told := meaning(text))}
    return _BY_CODE | _BY_NAME | own


def _measures(meter: Mapping[str, Any], known: Mapping[str, Meaning]) -> bool:
    """Whether it tells anything of a meter beside a number that anything may have."""
    return any(known.get(plain(key), (METER_NUMBER,))[0] != METER_NUMBER for key in meter)


def _numbers(
    meter: Mapping[str, Any], known: Mapping[str, Meaning]
) -> tuple[dict[str, Measured], Measured | None]:
    """By field the first that was sent, and the power that goes both ways."""
    numbers: dict[str, Measured] = {}
    for key, value in meter.items():
        told, text = known.get(plain(key)), sent_text(value)
        if told is not None and text is not None and told.field != METER_NUMBER:
            numbers.setdefault(told.field, Measured(text, told.factor))
    net_w = numbers.pop(NET_W, None)
    if net_w is None and "export_w" not in numbers and "import_w" in numbers:
        drawn = values.number(numbers["import_w"].text)
        if drawn is not None and drawn < 0:  # some scripts call so what goes both ways
            net_w = numbers.pop("import_w")
    return numbers, net_w


def _is_unheard(numbers: Mapping[str, Measured], net_w: Measured | None) -> bool:
    """Whether the reader has not heard its meter since it started: until then it sends 0 for everything."""
    sent = [*numbers.values(), *([net_w] if net_w else [])]
    return "import_wh" in numbers and all(values.number(each.text) == 0 for each in sent)


def _ids(meter: Mapping[str, Any], known: Mapping[str, Meaning]) -> list[str]:
    found = (sent_text(value) for key, value in meter.items() if known.get(plain(key)) == (METER_NUMBER, 1))
    return [text for text in found if text and text.strip("0")]


def _other(
    meters: Mapping[str, Mapping[str, Any]], meter: str, known: Mapping[str, Meaning]
) -> dict[str, Measured]:
    """What has no field, and what the same device says of other meters: a message is one reading."""
    other: dict[str, Measured] = {}
    for name, each in meters.items():
        for key, value in each.items():
            shown = key if name == meter else f"{name}.{key}"
            text = None if isinstance(value, dict | list) else sent_text(value)
            has_field = name == meter and plain(key) in known
            if text and not has_field and is_plain_key(shown):
                other[shown] = Measured(text)
    return other


def _times(told: Any, zone: str) -> list[Decimal | None]:
    """The device tells local time without saying which; of the hour that comes twice both are meant, and the rules choose."""
    if told is None:
        return []
    try:
        local = datetime.fromisoformat(told) if isinstance(told, str) else None
    except ValueError:
        local = None
    if local is None:
        return [None]
    if local.tzinfo is not None:
        return [_seconds(local)]
    return [_seconds(local.replace(tzinfo=ZoneInfo(zone), fold=fold)) for fold in (0, 1)]


def _seconds(moment: datetime) -> Decimal:
    return Decimal((moment - _EPOCH) // timedelta(milliseconds=1)) / 1000
