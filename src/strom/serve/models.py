"""The shapes of the API's answers, with what each field means; `/docs` is made of them."""

from datetime import date, datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

Direction = Literal["drawing", "feeding-in", "balanced"]
Quality = Literal["measured", "calculated", "substitute", "missing"]
Unit = Literal["hour", "day", "week", "month", "year"]
LineState = Literal["starting", "connected", "lost"]
TaskState = Literal["running", "failed"]


class Problem(BaseModel):
    """Every error."""

    error: str = Field(description="One sentence: what is wrong and what to do.")
    status: int = Field(description="The HTTP status code.")


class PowerNow(BaseModel):
    """Watts are null when nobody tells them: a missing value is not zero."""

    net_w: float | None = Field(description="Import minus export, in W; negative is feeding in.")
    import_w: float | None = Field(description="Drawn from the grid, in W.")
    export_w: float | None = Field(description="Fed into the grid, in W.")
    direction: Direction | None = Field(description="The sign of net_w in a word.")


class Fleet(PowerNow):
    """All meters that are not silent, summed up."""

    at: datetime = Field(description="The moment of this answer.")
    meters: int = Field(description="Meters known.")
    live: int = Field(description="Meters that are not silent.")
    drawing: int = Field(description="Meters that draw power now.")
    feeding: int = Field(description="Meters that feed in now.")
    open_alerts: int = Field(description="Alerts that have not ended.")
    published: int | None = Field(
        description="When the newest reading was published by its sender, in epoch ms, where the sender told."
    )


class FleetCurve(BaseModel):
    """The sum of all meters, one point a second."""

    points: list[tuple[int, float | None, int]] = Field(
        description="[epoch ms, net W or null for a gap, meters in the sum]"
    )


class MeterCurve(BaseModel):
    """The points of one meter as they came; a null is a gap."""

    points: list[tuple[int, float | None]] = Field(description="[epoch ms, net W or null for a gap]")


class MeterSummary(PowerNow):
    """One row of the list."""

    meter: str
    live: bool = Field(description="Not silent: it was heard within three push intervals, at least 90 s.")
    at: datetime | None = Field(description="The time of its newest reading, by the meter's clock.")
    received: datetime | None = Field(description="When Strom took that reading.")
    interval_s: float | None = Field(description="Its push interval as observed.")
    meter_number: str | None = None
    area: str | None = None
    open_alerts: int = 0


class MeterPage(BaseModel):
    total: int = Field(description="How many meters match.")
    offset: int
    items: list[MeterSummary]


class Meter(MeterSummary):
    """One meter with its newest reading as it stands in the topic `readings`."""

    reading: dict[str, Any]
    published: int | None = Field(description="When its sender published it, in epoch ms, where it told.")
    tariff: str | None = None
    contract: str | None = None


class Slot(BaseModel):
    """A quarter-hour. Without a row in the table everything but its start is empty: that is a gap."""

    start: datetime
    import_wh: float | None = None
    export_wh: float | None = None
    quality: Quality | None = Field(None, description="Of several meters the worst.")
    meters: int = Field(0, description="Meters whose energy is in the sums.")
    samples: int | None = Field(None, description="Readings in the quarter-hour.")
    expected: int | None = Field(None, description="Readings that the push interval promises.")
    version: int | None = Field(None, description="Grows when a late reading corrects the numbers.")
    flags: list[str] = Field(default_factory=list)
    import_w_min: float | None = Field(
        None, description="Power drawn in W, of one meter: the least of its readings."
    )
    import_w_mean: float | None = None
    import_w_max: float | None = None
    export_w_min: float | None = Field(
        None, description="Power fed in in W, of one meter: the least of its readings."
    )
    export_w_mean: float | None = None
    export_w_max: float | None = None
    voltage_l1_v_min: float | None = Field(
        None, description="Voltage of L1 in V, of one meter: the least of its readings."
    )
    voltage_l1_v_mean: float | None = None
    voltage_l1_v_max: float | None = None
    voltage_l2_v_min: float | None = Field(
        None, description="Voltage of L2 in V, of one meter: the least of its readings."
    )
    voltage_l2_v_mean: float | None = None
    voltage_l2_v_max: float | None = None
    voltage_l3_v_min: float | None = Field(
        None, description="Voltage of L3 in V, of one meter: the least of its readings."
    )
    voltage_l3_v_mean: float | None = None
    voltage_l3_v_max: float | None = None
    in_progress: bool = Field(False, description="The quarter-hour of this moment.")
    future: bool = Field(False, description="It has not begun.")


class Day(BaseModel):
    """The quarter-hours of a local day: 96, or 92 and 100 when the clocks change."""

    day: date
    today: date
    first_day: date | None = Field(description="The first day with a quarter-hour.")
    timezone: str
    import_wh: float | None = Field(description="Sum of the quarter-hours that are there.")
    export_wh: float | None
    slots: list[Slot]


class Sum(BaseModel):
    """The energy of a local hour, day, week, month or year, from its quarter-hours."""

    start: datetime
    import_wh: float | None
    export_wh: float | None
    slots: int = Field(description="Quarter-hours with energy in the sum.")
    of_slots: int = Field(description="Quarter-hours that the period has, of the meters that have any in it.")
    quality: Quality = Field(description="The worst of its quarter-hours.")


class Sums(BaseModel):
    unit: Unit
    timezone: str
    items: list[Sum]


class Alert(BaseModel):
    id: str
    meter: str
    kind: str
    part: str = Field(description="The phase (l1, l2, l3) or direction (import, export) it is about, if any.")
    severe: bool
    started: datetime
    ended: datetime | None = Field(description="Null while it lasts.")
    value: float | None
    threshold: float | None
    text: str = Field(description="One sentence for a householder.")


class AlertPage(BaseModel):
    total: int
    offset: int
    items: list[Alert]


class Line(BaseModel):
    state: LineState
    since: datetime = Field(description="When this state began.")
    reason: str = Field("", description="Why the line is lost.")


class Task(BaseModel):
    """Something that the page does in the background."""

    name: str
    state: TaskState = Field(description="`failed` from an error until it works again; it is started anew.")
    since: datetime = Field(description="When this state began.")
    reason: str = Field("", description="The error, while it is failed.")
    restarts: int = Field(description="How often it was started anew.")


class Health(BaseModel):
    status: Literal["ok", "degraded"] = Field(
        description="`degraded` while a line is not connected or a task is failed."
    )
    kafka: Line
    postgres: Line
    tasks: list[Task]
    meters: int
    readings: int = Field(description="Readings taken since the start, each once.")
    foreign_records: int = Field(
        description="Records of `readings` and rows of `readings_latest` that are not readings; they are passed over."
    )
    pages: int = Field(description="Open pages.")
    version: str
