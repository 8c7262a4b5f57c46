"""What three-phase energy meters of Shelly say over MQTT: the 3EM (first generation), the Pro 3EM and its successors.

The first says all at once on `shellies/NAME/info`, and each value alone on `shellies/NAME/emeter/…`. The others tell power
and energy in messages of their own, on `NAME/events/rpc` or `NAME/status/…`: each is a reading of what it has.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from strom.devices.reading_of import Measured, Said, is_plain_key, reading_of
from strom.devices.strict_json import sent_text, strict_value
from strom.domain import dialects, values
from strom.domain import reading as rules
from strom.domain.reading import Rejected

DIALECT = dialects.SHELLY_3EM

# From the second generation on, in Wh, W, V, A and Hz: `em:0` has what is now, `emdata:0` the counters.
COMPONENTS = ("em:0", "emdata:0")
PHASES = {"a": 1, "b": 2, "c": 3}
NET = "total_act_power"
FIELDS = {
    "total_act": "import_wh",
    "total_act_ret": "export_wh",
    **{f"{letter}_voltage": f"voltage_l{phase}_v" for letter, phase in PHASES.items()},
    **{f"{letter}_current": f"current_l{phase}_a" for letter, phase in PHASES.items()},
}
FREQUENCY = "{}_freq"  # of a phase
_NO_OTHERS = frozenset({"id", NET, *map(FREQUENCY.format, PHASES)})
# A device says of itself that a value is wrong: `"a_errors": ["out_of_range:voltage"]`, or of all of them.
OUT_OF_RANGE = {
    "out_of_range:active_power": "act_power",
    "out_of_range:apparent_power": "aprt_power",
    "out_of_range:voltage": "voltage",
    "out_of_range:current": "current",
}
BROKEN = "power_meter_failure"

# The first generation, in Wh, W, V and A: all of it by phase, and what the three are together.
PHASE_FIELDS = {"voltage": "voltage_l{}_v", "current": "current_l{}_a"}
PHASE_OTHERS = ("power", "pf", "total", "total_returned", "energy", "returned_energy", "reactive_power")
SUMS = {"total": "import_wh", "total_returned": "export_wh"}

_EMETER = re.compile(r"(?:.*/)?emeter/([0-2])/([a-z_]+)", re.DOTALL)
_MARKS = frozenset({"events", "status", "rpc", "info", "emeter", "online"})  # come behind the name in a topic


def decode(
    payload: bytes, *, received_ms: int, source: str = "mqtt", topic: str | None = None
) -> dict[str, Any]:
    """The reading that a message says; Rejected with its reason if it says none."""
    message = strict_value(payload)
    said = _said(message, topic) if isinstance(message, dict) else _said_alone(message, topic)
    return reading_of(said, received_ms=received_ms, source=source)


def key_of(topic: str) -> str:
    """The device's name in a topic of the forms above; on any other the last level."""
    return _device(topic) or values.last_level(topic)


def _device(topic: str) -> str | None:
    levels = topic.split("/")
    if levels[0] == "shellies" and len(levels) > 2:
        return levels[1] or None
    return next((name for name, mark in pairwise(levels) if mark in _MARKS and name), None)


def _said(message: Mapping[str, Any], topic: str | None) -> Said:
    """A notification has it under `params`, an answer under `result`; a status is the component itself."""
    inner = (message.get(key) for key in ("params", "result"))
    body: Mapping[str, Any] = next((each for each in inner if isinstance(each, dict)), message)
    sender = [message.get("src"), body.get("mac")]
    phases = body.get("emeters")
    told = body.get("ts", body.get("unixtime"))
    numbers, net_w, other, unreadable = _by_phase(phases, body) if phases is not None else _by_component(body)
    return Said(
        numbers=numbers,
        ids=[text for each in sender if (text := sent_text(each))],
        other=other,
        times=[] if told is None else [values.number(sent_text(told) or "")],
        name=values.name(_device(topic or "")),
        level=values.topic_name(topic),
        net_w=net_w,
        unreadable=unreadable,
    )


_Found = tuple[dict[str, Measured], Measured | None, dict[str, Measured], bool]


def _by_component(body: Mapping[str, Any]) -> _Found:
    components: list[Mapping[str, Any]] = [
        part for name in COMPONENTS if isinstance(part := body.get(name), dict)
    ]
    parts = components or [body]
    if not any(key in part for part in parts for key in (*FIELDS, NET)):
        raise Rejected(rules.NO_KNOWN_REGISTER)
    spoilt = {key for part in parts for key in _spoilt(part)}
    sent = {key: value for part in parts for key, value in part.items() if key not in spoilt}
    numbers = {FIELDS[key]: measured for key, measured in _measured(sent, FIELDS)}
    numbers.update(_frequency(sent))
    others = [key for key in sent if key not in FIELDS and key not in _NO_OTHERS and is_plain_key(key)]
    other = {key: measured for key, measured in _measured(sent, others) if measured.text != "["}
    return numbers, dict(_measured(sent, [NET])).get(NET), other, bool(spoilt)


def _measured(sent: Mapping[str, Any], keys: Iterable[str]) -> list[tuple[str, Measured]]:
    texts = ((key, sent_text(sent.get(key))) for key in keys)
    return [(key, Measured(text)) for key, text in texts if text is not None]


def _spoilt(part: Mapping[str, Any]) -> set[str]:
    """What the device says is wrong; where a phase is, so is the sum of the three."""
    if BROKEN in _errors(part, "errors"):
        return set(part)
    found = {
        f"{letter}_{OUT_OF_RANGE[error]}"
        for letter in PHASES
        for error in _errors(part, f"{letter}_errors")
        if error in OUT_OF_RANGE
    }
    return found | {NET} if found else found


def _errors(part: Mapping[str, Any], key: str) -> list[str]:
    told = part.get(key)
    return [each for each in told if isinstance(each, str)] if isinstance(told, list) else []


def _frequency(sent: Mapping[str, Any]) -> dict[str, Measured]:
    """Of the first phase that is connected: of the others the device tells something all the same."""
    for letter in PHASES:
        voltage = sent_text(sent.get(f"{letter}_voltage"))
        frequency = sent_text(sent.get(FREQUENCY.format(letter)))
        if frequency is not None and values.number(voltage or "") not in (None, 0):
            return {"frequency_hz": Measured(frequency)}
    return {}


def _by_phase(phases: Any, body: Mapping[str, Any]) -> _Found:
    """The first generation's object. Where a phase is not valid there is no sum: one too low would be a fall."""
    if not (
        isinstance(phases, list)
        and len(phases) == len(PHASES)
        and all(isinstance(each, dict) for each in phases)
    ):
        raise Rejected(rules.NO_KNOWN_REGISTER)
    valid = [each if each.get("is_valid", True) is True else {} for each in phases]
    numbers: dict[str, Measured] = {}
    other: dict[str, Measured] = {}
    for place, each in enumerate(valid):
        numbers |= {PHASE_FIELDS[key].format(place + 1): sent for key, sent in _measured(each, PHASE_FIELDS)}
        other |= {f"emeters.{place}.{key}": sent for key, sent in _measured(each, PHASE_OTHERS)}
    numbers |= {field: total for key, field in SUMS.items() if (total := _sum(valid, key))}
    net_w = (
        Measured(text)
        if all(valid) and (text := sent_text(body.get("total_power")))
        else _sum(valid, "power")
    )
    return numbers, net_w, other, not all(valid)


def _sum(phases: Iterable[Mapping[str, Any]], key: str) -> Measured | None:
    """Of the three, if all tell it; unreadable if one of them is."""
    texts = [sent_text(each.get(key)) for each in phases]
    if None in texts:
        return None
    found = [values.number(text or "") for text in texts]
    summed = [each for each in found if each is not None]
    return Measured(str(sum(summed)) if len(summed) == len(texts) else "")


def _said_alone(value: Any, topic: str | None) -> Said:
    """One value of one phase, which only the topic names."""
    found = _EMETER.fullmatch(topic or "")
    text = sent_text(value)
    if found is None or text is None or text == "[":
        raise Rejected(rules.NOT_AN_OBJECT)
    place, key = int(found[1]), found[2]
    if key not in PHASE_FIELDS and key not in PHASE_OTHERS:
        raise Rejected(rules.NO_KNOWN_REGISTER)
    field = PHASE_FIELDS.get(key, "").format(place + 1)
    return Said(
        numbers={field: Measured(text)} if field else {},
        other={} if field else {f"emeters.{place}.{key}": Measured(text)},
        name=values.name(_device(topic or "")),
        level=values.topic_name(topic),
    )
