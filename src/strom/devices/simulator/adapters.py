"""A simulated adapter: a meter, the dialect it keeps, its identity and its faults, turned into payloads.

Pure: the moment is given, nothing is sent. The MQTT, REST and Modbus faces of the device are built on it.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from strom.devices.simulator.bends import BENDS, at_voltage, without_export
from strom.devices.simulator.dialects import Dialect, Encoder
from strom.devices.simulator.faults import Fault, FaultKind, malform
from strom.devices.simulator.meters import Measurement, Meter, local_ms

SWAP_WH = 12.0  # a new meter has run a little at the factory
SPOILT = 0.34  # of the pushes while a box sends malformed payloads
RESTART_MS = 30 * 86_400_000


@dataclass
class Adapter:
    """One box on one meter; `payload` gives what it pushes at a moment, None while it is silent."""

    meter: Meter
    dialect: Dialect
    name: str  # what the owner typed; may be empty
    client_id: str
    number: str
    boot_phase_ms: int  # the box restarts every 30 days, each at its own time
    faults: tuple[Fault, ...] = ()
    _encoder: Encoder = field(init=False, repr=False)
    _swapped: Encoder = field(init=False, repr=False)
    _last_of_old: Measurement | None = field(
        init=False, repr=False, default=None
    )  # when the meter was swapped

    def __post_init__(self) -> None:
        self._encoder = Encoder(self.dialect, self.name, self.number)
        self._swapped = Encoder(self.dialect, self.name, f"{self.number[:-6]}9{self.number[-5:]}")

    @property
    def key(self) -> str:
        """What Strom calls this meter: its name, else its number, else where it publishes."""
        if self.name:
            return self.name
        return self.number if self.dialect.number_code else self.client_id

    def topic(self, base: str) -> str:
        return base if self.name else f"{base}/{self.client_id}"

    def fault_at(self, time_ms: int) -> Fault | None:
        """The fault that is felt at this moment; of a meter that was swapped or jumped it is over at once."""
        for fault in self.faults:
            if fault.kind not in (FaultKind.RESET, FaultKind.JUMP) and fault.active(time_ms):
                return fault
        return None

    def uptime_s(self, time_ms: int) -> float:
        return (time_ms + self.boot_phase_ms) % RESTART_MS / 1000

    def payload(self, time_ms: int) -> bytes | None:
        measurement = self.meter.measure(time_ms)
        if self.faults:
            return self._troubled(measurement, time_ms)
        return self._write(self._encoder, measurement, time_ms, time_ms // 1000)

    def silent(self, time_ms: int) -> bool:
        """Whether there is no push at this moment."""
        return any(fault.kind is FaultKind.SILENT and fault.active(time_ms) for fault in self.faults)

    def spoils(self, time_ms: int) -> bool:
        """Whether the push at this moment is malformed: about every third of those in the window."""
        fault = self.fault_at(time_ms)
        if fault is None or fault.kind is not FaultKind.MALFORMED:
            return False
        return self.meter.noise.at(self.meter.premises.salt, time_ms // 1000) < SPOILT

    def shown(self, time_ms: int) -> dict[str, Decimal]:
        """The numbers of the push at this moment, as its dialect has them, for interfaces without JSON."""
        return self._encoder.numbers(self.measure(time_ms))

    def number_at(self, time_ms: int) -> str | None:
        """The meter number that the push at this moment tells."""
        swapped = any(fault.kind is FaultKind.RESET and fault.active(time_ms) for fault in self.faults)
        return (self._swapped if swapped else self._encoder).number

    def measure(self, time_ms: int) -> Measurement:
        """What the meter shows, with its faults: the same for every interface of the box."""
        measurement = self.meter.measure(time_ms)
        for fault in self.faults:
            if fault.active(time_ms):
                measurement = self._bend(measurement, fault, time_ms)
        return measurement

    def _troubled(self, measurement: Measurement, time_ms: int) -> bytes | None:
        encoder, time_s = self._encoder, time_ms // 1000
        if self.silent(time_ms):
            return None
        for fault in self.faults:
            if not fault.active(time_ms):
                continue
            measurement = self._bend(measurement, fault, time_ms)
            if fault.kind is FaultKind.RESET:
                encoder = self._swapped
            elif fault.kind is FaultKind.CLOCK:
                time_s += int(fault.value)
        payload = self._write(encoder, measurement, time_ms, time_s)
        return malform(payload, time_ms // 1000) if self.spoils(time_ms) else payload

    def _bend(self, measurement: Measurement, fault: Fault, time_ms: int) -> Measurement:
        if fault.kind is FaultKind.VOLTAGE:
            return at_voltage(measurement, fault.value)
        if fault.kind is FaultKind.RESET:
            return self._since_swap(measurement, fault.starts_ms)
        if fault.kind is FaultKind.PLANT_OFF:
            return without_export(measurement, self.meter.measure(fault.starts_ms))
        bend = BENDS.get(fault.kind)
        return measurement if bend is None else bend(measurement, fault, time_ms)

    def _since_swap(self, measurement: Measurement, swap_ms: int) -> Measurement:
        if self._last_of_old is None:
            self._last_of_old = self.meter.measure(swap_ms)
        old = self._last_of_old
        return measurement._replace(
            import_wh=measurement.import_wh - old.import_wh + SWAP_WH,
            export_wh=measurement.export_wh - old.export_wh,
            import_t1_wh=measurement.import_t1_wh - old.import_t1_wh + SWAP_WH,
            import_t2_wh=measurement.import_t2_wh - old.import_t2_wh,
            reactive_import_varh=measurement.reactive_import_varh - old.reactive_import_varh,
            reactive_export_varh=measurement.reactive_export_varh - old.reactive_export_varh,
        )

    def _write(self, encoder: Encoder, measurement: Measurement, time_ms: int, time_s: int) -> bytes:
        clock = ""
        if encoder.shows_clock:
            shown = local_ms(time_ms) // 1000 + time_s - time_ms // 1000
            clock = datetime.fromtimestamp(shown, UTC).strftime("%Y-%m-%d %H:%M:%S")
        return encoder.encode(measurement, time_s, self.uptime_s(time_ms), clock)
