"""What a process has used so far, as the kernel counts it."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
KIB_PER_MB = 1024


@dataclass(frozen=True)
class Usage:
    cpu_s: float
    peak_mb: float  # the most memory it ever had


def usage(pid: int) -> Usage:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    fields = stat.rpartition(")")[2].split()  # the name before may hold spaces
    user, system = int(fields[11]), int(fields[12])
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return Usage((user + system) / _TICKS, int(peak.split()[1]) / KIB_PER_MB)
