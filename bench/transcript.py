"""What it costs to learn from an agent's transcript how full its context is, whatever its size.

The first reading, by a daemon that was just started, and each one after it, when a few records
were added since. Large tool results may stand after the last record that tells. The file is mostly
a hole: a reader that went through all of it would be found out all the same.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, Goal, at_most, median, quantile
from bench.sizes import Sizes
from sm.adapters.agents.claude.usage import UsageReader

FIRST_MS, NEXT_MS = 5.0, 1.0
RESULTS = {"nothing": 0, "200 KB": 200_000, "5 MB": 5_000_000}
"""What tools said after the last usage record."""
WINDOW = 64_000


def measure(sizes: Sizes) -> Iterator[Figure]:
    for name, size in RESULTS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "transcript.jsonl")
            _write(path, sizes.transcript_bytes, size)
            yield from _readings(path, name, size, sizes.transcript_readings)


def _readings(path: Path, name: str, size: int, count: int) -> Iterator[Figure]:
    little = _floor(path, WINDOW, count)
    # What stands behind the last usage has to be read, whoever reads it.
    much = _floor(path, 2 * size, count) if size else little
    begun = UsageReader()
    _read(begun, path)

    def again(*added: bytes, times: int = count) -> float:
        return median(_times(lambda: _read(begun, path), times, before=lambda: _add(path, *added)))

    first = _times(lambda: _read(UsageReader(), path), count)
    whole = f"{path.stat().st_size / 1e9:.2g} GB"
    what = f"usage read from {whole}, {name} of tool results behind it"
    yield _figure(f"{what}, median", median(first), much, at_most(FIRST_MS))
    # Neighbours on the machine show here first: a reading is shorter than their turns.
    yield _figure("  p95", quantile(first, 0.95), much)
    more = again(_result(300))
    yield _figure("  read again after one more record, median", more, little, at_most(NEXT_MS))
    more = again(_result(300), REPLY)
    yield _figure("  read again after one more reply, median", more, little, at_most(NEXT_MS))
    if size:
        more = again(_result(size), times=min(count, 20))
        yield _figure(f"  read again after {name} more, median", more, much)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Floor:
    seconds: float
    words: str


def _figure(what: str, seconds: float, floor: _Floor, goal: Goal | None = None) -> Figure:
    return Figure(
        what=what,
        measured=1e3 * seconds,
        unit="ms",
        floor=1e3 * floor.seconds,
        floor_is=floor.words,
        goal=goal,
    )


def _times(
    call: Callable[[], object], count: int, before: Callable[[], object] = lambda: None
) -> list[float]:
    times = []
    for _ in range(count):
        before()
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return times


def _read(reader: UsageReader, path: Path) -> None:
    found = reader.read(path)
    assert found is not None
    assert found.tokens == 1110


def _floor(path: Path, size: int, count: int) -> _Floor:
    def plain() -> None:
        buffer = bytearray(WINDOW)
        with path.open("rb", buffering=0) as file:
            file.seek(-min(size, path.stat().st_size), 2)
            while file.readinto(buffer):
                pass

    return _Floor(
        seconds=median(_times(plain, count)), words=f"open, seek, read {size // 1000:,} KB"
    )


def _write(path: Path, size: int, result: int) -> None:
    """A transcript of this size, which ends with tool results of that size."""
    with path.open("wb") as file:
        file.seek(size)
        file.write(b"\n")
    _add(path, *[_result(2_000), REPLY] * 100)
    if result:
        _add(path, _result(result))


def _add(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))


_LEAD = {"parentUuid": "c0ffee", "isSidechain": False, "userType": "external", "cwd": "/src"}
_LATER = {"uuid": "c0ffee", "timestamp": "2026-11-16T06:00:00.000Z"}


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def _result(size: int) -> bytes:
    """As Claude Code writes it: what a tool printed, and the same again for itself."""
    text = ('"line" of what a tool printed,\n' * (size // 30 + 1))[:size]
    content = [{"type": "tool_result", "content": text, "tool_use_id": "toolu"}]
    message = {"role": "user", "content": content}
    told = {"stdout": text, "stderr": "", "interrupted": False}
    return _line({**_LEAD, "type": "user", "message": message, **_LATER, "toolUseResult": told})


_USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000}
_MESSAGE = {
    "model": "claude-opus-4-8",
    "content": [{"type": "text", "text": "words " * 100}],
    "usage": _USAGE,
}
REPLY = _line({**_LEAD, "message": _MESSAGE, "requestId": "req", "type": "assistant", **_LATER})
