"""Native columns that tell which cells deserve a look reading by reading; in nearly all of them nothing is odd.

With groups the strictest limit of all counts here; what holds for the meter itself is judged afterwards.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from strom.domain.run_kinds import PHASES, POWERS
from strom.pipeline.limits import Limits


def odd_column(limits: Limits) -> Column:
    """`odd`: too much power or a phase without voltage."""
    variants = limits.of_meter.variants
    most = min(rules.most_w for rules in variants) * 1000
    lost = round(max(rules.phase_loss_v for rules in variants) * 1000)
    much = F.greatest(*(F.max(f"{power}_p") for power in POWERS)) > most
    gone = F.least(*(F.min(phase) for phase in PHASES)) < lost
    return (F.coalesce(much, F.lit(False)) | F.coalesce(gone, F.lit(False))).alias("odd")


def clock_odd(limits: Limits) -> Column:
    """`clock_odd`: a wrong time."""
    off = min(rules.clock_seconds for rules in limits.of_meter.variants) * 1000
    wrong = F.max(F.abs(F.col("received_first") - F.col("t"))) > off
    return (wrong | F.coalesce(F.max("impossible_time"), F.lit(False))).alias("clock_odd")
