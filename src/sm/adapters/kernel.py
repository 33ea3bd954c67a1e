"""What Linux tells of memory that ran out: its log, and what it counts for each control group.

Both may be closed to us, as the log is to most users; then nothing is known, and that is said.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

LOG = Path("/dev/kmsg")
GROUPS = Path("/sys/fs/cgroup")
RECORD = 8192
"""No record of the log is longer."""
_KILLED = re.compile(r"\bKilled process (\d+)\b")
_COUNTED = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
SHOWN = 160


def read_log(path: Path = LOG) -> list[str]:
    """Every record there is, oldest first; none where it may not be read."""
    try:
        log = FileIO(path, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
    except OSError:
        return []
    with log:
        return [record.decode(errors="replace") for record in _records(log)]


def _records(log: FileIO) -> Iterator[bytes]:
    """One record for each read, until there is nothing more."""
    while True:
        try:
            record = log.read(RECORD)
        except BrokenPipeError:
            # Overwritten before we came to it: the next read goes on behind the gap.
            continue
        except OSError:
            return
        if not record:
            return
        yield record


def killed_in(records: Iterable[str], pid: int, since: float) -> str | None:
    """What the log says about killing this process for memory, at or after a time since boot."""
    for record in reversed(list(records)):
        head, _, text = record.partition(";")
        killed = _KILLED.search(text)
        if killed is None or int(killed[1]) != pid or _at(head) < since:
            continue
        return text.splitlines()[0].strip()[:SHOWN]
    return None


def _at(head: str) -> float:
    """Seconds since boot: the third field of a record's head, in microseconds."""
    fields = head.split(",")
    return int(fields[2]) / 1e6 if len(fields) > 2 and fields[2].isdecimal() else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """How often the kernel has killed in one control group for want of memory."""

    path: Path
    count: int

    def rise(self) -> int:
        """How often since then; 0 where it cannot be read any more."""
        now = _count(self.path)
        return 0 if now is None else max(0, now - self.count)


def counter_of(membership: str, groups: Path = GROUPS) -> Counter | None:
    """The counter for a process, by its ``/proc/PID/cgroup``; None where there is none."""
    for line in membership.splitlines():
        _, _, rest = line.partition(":")
        kind, _, group = rest.partition(":")
        for path in _files(kind, group.lstrip("/"), groups):
            count = _count(path)
            if count is not None:
                return Counter(path=path, count=count)
    return None


def _files(kind: str, group: str, groups: Path) -> list[Path]:
    """Where the counter may be: version 2 names no controller, version 1 a folder for each."""
    if not kind:
        return [root / group / "memory.events" for root in (groups, groups / "unified")]
    if "memory" in kind.split(","):
        return [groups / kind / group / "memory.oom_control"]
    return []


def _count(path: Path) -> int | None:
    try:
        found = _COUNTED.search(path.read_text())
    except OSError:
        return None
    return int(found[1]) if found else None
