"""How a fault changes what a meter shows. Pure; which meter has it and when is decided in `faults`."""

from collections.abc import Callable

from strom.devices.simulator.faults import Fault, FaultKind
from strom.devices.simulator.meters import Measurement

MS_PER_HOUR = 3_600_000


def at_voltage(measurement: Measurement, volts: float) -> Measurement:
    """The same power at another voltage."""
    return measurement._replace(
        voltage_l1_v=volts,
        voltage_l2_v=volts,
        voltage_l3_v=volts,
        current_l1_a=measurement.current_l1_a * measurement.voltage_l1_v / volts,
        current_l2_a=measurement.current_l2_a * measurement.voltage_l2_v / volts,
        current_l3_a=measurement.current_l3_a * measurement.voltage_l3_v / volts,
    )


def without_export(measurement: Measurement, last: Measurement) -> Measurement:
    """As if the plant had stopped when `last` was measured."""
    return measurement._replace(export_w=0.0, export_wh=last.export_wh)


def _lost_phase(measurement: Measurement, fault: Fault, _: int) -> Measurement:
    return measurement._replace(voltage_l2_v=fault.value, current_l2_a=0.0)


def _jumped(measurement: Measurement, fault: Fault, _: int) -> Measurement:
    return measurement._replace(
        import_wh=measurement.import_wh + fault.value, import_t1_wh=measurement.import_t1_wh + fault.value
    )


def _overloaded(measurement: Measurement, fault: Fault, _: int) -> Measurement:
    """Only the power shown: a counter that grew as fast would not be believed."""
    return _drawing(measurement, fault.value - measurement.import_w)


def _left_on(measurement: Measurement, fault: Fault, time_ms: int) -> Measurement:
    """More power, and the energy that it has taken since."""
    more_wh = fault.value * (time_ms - fault.starts_ms) / MS_PER_HOUR
    return _drawing(measurement, fault.value)._replace(
        import_wh=measurement.import_wh + more_wh, import_t1_wh=measurement.import_t1_wh + more_wh
    )


def _drawing(measurement: Measurement, more_w: float) -> Measurement:
    """More power, shared by the phases."""
    each = more_w / 3
    return measurement._replace(
        import_w=measurement.import_w + more_w,
        current_l1_a=measurement.current_l1_a + each / measurement.voltage_l1_v,
        current_l2_a=measurement.current_l2_a + each / measurement.voltage_l2_v,
        current_l3_a=measurement.current_l3_a + each / measurement.voltage_l3_v,
    )


BENDS: dict[FaultKind, Callable[[Measurement, Fault, int], Measurement]] = {
    FaultKind.PHASE_LOSS: _lost_phase,
    FaultKind.JUMP: _jumped,
    FaultKind.OVERLOAD: _overloaded,
    FaultKind.LEFT_ON: _left_on,
}
