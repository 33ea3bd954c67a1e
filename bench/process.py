"""What the kernel says a process has used."""

import os
import time
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of all its threads; steps of 10 ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_percent(pids: list[int], seconds: float) -> dict[int, float]:
    """The share of one core each process used while we waited."""
    before = {pid: cpu_seconds(pid) for pid in pids}
    began = time.monotonic()
    time.sleep(seconds)
    spent = time.monotonic() - began
    return {pid: 100 * (cpu_seconds(pid) - before[pid]) / spent for pid in pids}
