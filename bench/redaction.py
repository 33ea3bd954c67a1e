"""What redaction finds, what it takes for a secret wrongly, and what it costs.

Recall is measured on made-up secrets in made-up surroundings, by a generator that was written
before the rules. False hits and speed are measured on what is installed here: sources of Python
and JavaScript, the system's logs. Every hit there counts as false, also an example in a manual.
"""

import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from tests.kit.secrets_generator import GENERATORS, leaks, planted

from bench.figures import Figure, Goal, at_least, at_most, median
from bench.sizes import Sizes
from sm.redaction.matcher import PlainMatcher
from sm.redaction.redactor import COLOURED, Redactor

SEED = 2026
RECALL, FALSE_HITS, SPEED = 97.0, 1.0, 30.0
ROOT = Path(__file__).parents[1]
PLACES = {
    "Python": (Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib"))),
    "JavaScript": (Path("/usr/lib/node_modules"), Path("/usr/local/lib/node_modules")),
    "logs and manuals": (Path("/var/log"), Path("/usr/share/doc")),
    "this project": (ROOT / "src", ROOT / "docs"),
}
ENDINGS = (".py", ".pyi", ".js", ".cjs", ".mjs", ".ts", ".json", ".md", ".rst", ".txt", ".log")
LARGEST = 4_000_000
ROUNDS = 5


def measure(sizes: Sizes) -> Iterator[Figure]:
    yield from _recall(sizes.secrets)
    texts = {name: list(_texts(folders, sizes)) for name, folders in PLACES.items()}
    yield from _false_hits(texts)
    code = b"".join(text for part in texts.values() for text in part)
    yield from _speed(code)
    yield from _start()


def _recall(count: int) -> Iterator[Figure]:
    redactor, recalls = Redactor(), dict[str, float]()
    for kind in GENERATORS:
        missed = sum(leaks(s, redactor.redact(s.text)) for s in planted(kind, count, seed=SEED))
        recalls[kind] = 100 * (1 - missed / count)
    enough = sum(recall >= RECALL for recall in recalls.values())
    mean = sum(recalls.values()) / len(recalls)
    yield _of(f"secrets found, {count} of each of {len(recalls)} kinds", mean, "%")
    yield _of(f"  kinds of which {RECALL:g} % are found", enough, "kinds", at_least(25))
    worst = min(recalls, key=recalls.__getitem__)
    yield _of(f"  worst kind: {worst}", recalls[worst], "%")


def _false_hits(texts: dict[str, list[bytes]]) -> Iterator[Figure]:
    hits, size = 0, 0.0
    for name, part in texts.items():
        redactor = Redactor()
        for text in part:
            redactor.redact_bytes(text)
        found, megabytes = redactor.counts.total(), sum(map(len, part)) / 1e6
        if megabytes:
            yield _of(f"hits in {name}, {megabytes:.0f} MB", found / megabytes, "per MB")
        hits, size = hits + found, size + megabytes
    if size:
        yield _of(f"hits in all, {size:.0f} MB", hits / size, "per MB", at_most(FALSE_HITS))


def _speed(code: bytes) -> Iterator[Figure]:
    """A first text, with an automaton that is yet to be built, and those after it."""
    record = json.dumps({"type": "user", "text": code[: len(code) // 3].decode(errors="replace")})
    for name, text in (("sources and logs", code), ("a transcript's record", record.encode())):
        firsts, laters = [], []
        for _ in range(ROUNDS):
            redactor = Redactor()
            firsts.append(_rate(redactor, text))
            laters.append(_rate(redactor, text))
        what = f"{name}, {len(text) / 1e6:.0f} MB"
        yield _of(f"redacted per CPU second, {what}", median(firsts), "MB", at_least(SPEED))
        yield _of("  once more", median(laters), "MB")
    plain = Redactor()
    plain._matcher = PlainMatcher((*plain._rules, COLOURED))
    yield _of("  without RE2", _rate(plain, code[:2_000_000]), "MB")


def _rate(redactor: Redactor, text: bytes) -> float:
    began = time.process_time()
    for _ in redactor.redact_stream(text[i : i + 262_144] for i in range(0, len(text), 262_144)):
        pass
    return len(text) / 1e6 / (time.process_time() - began)


_STARTED = """
import os, time
from bench.process import rss_mb
before, began = rss_mb(os.getpid()), time.perf_counter()
from sm.redaction.redactor import COLOURED, Redactor
Redactor().redact("password: none")
spent = time.perf_counter() - began
print(1e3 * spent, rss_mb(os.getpid()) - before)
"""


def _start() -> Iterator[Figure]:
    command = [sys.executable, "-c", _STARTED]
    runs = [
        [float(word) for word in subprocess.check_output(command, text=True, cwd=ROOT).split()]
        for _ in range(ROUNDS)
    ]
    yield _of("imported and ready", median([run[0] for run in runs]), "ms")
    yield _of("  memory for that", median([run[1] for run in runs]), "MB")


def _texts(folders: Iterable[Path], sizes: Sizes) -> Iterator[bytes]:
    """Files of these folders, every so many of them: as many bytes as are wanted."""
    paths = [path for folder in folders for path in _paths(folder)]
    wanted = sizes.redaction_bytes
    total = sum(path.stat().st_size for path in paths)
    step = max(1, total // wanted)
    for path in islice(paths, 0, None, step):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if b"\0" not in text:
            yield text


def _paths(folder: Path) -> list[Path]:
    found = [
        Path(root, name)
        for root, _, names in os.walk(folder)
        for name in sorted(names)
        if name.endswith(ENDINGS) or folder == Path("/var/log")
    ]
    return [p for p in found if p.is_file() and not p.is_symlink() and p.stat().st_size < LARGEST]


def _of(what: str, measured: float, unit: str, goal: Goal | None = None) -> Figure:
    return Figure(what=what, measured=measured, unit=unit, goal=goal)
