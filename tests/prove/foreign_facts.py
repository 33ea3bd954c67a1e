"""`sm handoffs draft` against transcripts made without knowledge of how it writes."""

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.kit.foreign_facts import LONG, Fact, Plan, plant
from tests.kit.sm import SM, Sm
from tests.prove.ledger import Verdict

SHARE, SECONDS = 0.95, 1.0
BUDGET = 30_000
LATEST = 3
"""Requests that must be there word for word, be they only "go on"."""
KB, MB = 1_000, 1_000_000
SIZES = ((200 * KB, (1, 2, 3, 4, 5, 6)), (5 * MB, (1, 2, 3, 4, 5)), (100 * MB, (1, 2)))


@dataclass(slots=True)
class Reading:
    """One transcript, and what its document tells."""

    size: int
    plan: Plan
    document: str
    missing: list[Fact] = field(default_factory=list)
    inexact: list[str] = field(default_factory=list)
    """The person's latest requests that are not there word for word."""
    stale: list[str] = field(default_factory=list)
    """Todo items called open that were done."""
    whole: int = 0
    """Of the six requests planted near the end, those word for word."""
    seconds: float = 0
    """On the clock, the command and the daemon."""
    cpu: float = 0
    peak: int = 0
    """Megabytes of the daemon at its height."""
    floor: float = 0
    """Seconds to read the bytes and do nothing with them."""

    @property
    def share(self) -> float:
        return 1 - len(self.missing) / len(self.plan.facts)


def read(sm: Sm, *, size: int, seed: int) -> Reading:
    path = sm.folder / f"{size}-{seed}.jsonl"
    plan = plant(path, size=size, seed=seed)
    sm.run("ls")
    worker = sm.health()["worker"]
    _forget_peak(worker)
    cpu, began = _cpu(worker), time.monotonic()
    done = subprocess.run(
        [str(SM), "handoffs", "draft", "--transcript", str(path), "--budget", "30KB", "--json"],
        env=sm.environment, capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    seconds, used = time.monotonic() - began, _cpu(worker) - cpu
    draft = json.loads(done.stdout)
    document = draft["document"]
    reading = Reading(size=path.stat().st_size, plan=plan, document=document, seconds=seconds,
                      cpu=used, peak=_peak(worker), floor=_floor(path))  # fmt: skip
    reading.missing = [fact for fact in plan.facts if not fact.is_in(document)]
    reading.inexact = [text for text in plan.requests[-LATEST:] if not _is_exact(text, draft)]
    reading.stale = [item for item in plan.closed if f"[ ] {item}" in document]
    reading.whole = sum(_is_exact(text, draft) for text in plan.planted)
    path.unlink()
    return reading


def _is_exact(text: str, draft: dict[str, object]) -> bool:
    """Whole in the document; a long one by head and tail, and whole in a file it names."""
    document, asides = str(draft["document"]), draft["asides"]
    if len(text.encode()) <= LONG:
        return text in document or text in _unquoted(document)
    head, tail = text.splitlines()[0], text.splitlines()[-1]
    assert isinstance(asides, list)
    return (
        head in document
        and tail in document
        and any(a["text"].strip() == text and a["name"] in document for a in asides)
    )


def _unquoted(document: str) -> str:
    """Without the marks that set a quotation off."""
    return re.sub(r"^(> ?|    )", "", document, flags=re.MULTILINE)


def _cpu(worker: int) -> float:
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[11:15]
    return own.ru_utime + own.ru_stime + sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _forget_peak(worker: int) -> None:
    Path(f"/proc/{worker}/clear_refs").write_text("5")


def _peak(worker: int) -> int:
    status = Path(f"/proc/{worker}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1]) // 1024


def _floor(path: Path) -> float:
    began = time.monotonic()
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass
    return time.monotonic() - began


def foreign_facts(
    sm: Sm, *, sizes: tuple[tuple[int, tuple[int, ...]], ...] = SIZES
) -> tuple[Verdict, str]:
    """Facts are counted one by one; a request that is not word for word is changed."""
    total, words = Verdict(), []
    for size, seeds in sizes:
        readings = [read(sm, size=size, seed=seed) for seed in seeds]
        facts = sum(len(r.plan.facts) for r in readings)
        missing = [fact for r in readings for fact in r.missing]
        inexact = [text for r in readings for text in r.inexact]
        slow = max(r.seconds for r in readings)
        too_large = sum(len(r.document.encode()) > BUDGET for r in readings)
        share = 1 - len(missing) / facts
        _tell(size, share, missing, inexact, readings)
        stale = sum(len(r.stale) for r in readings)
        goals = [share >= SHARE, not inexact, slow <= SECONDS, not too_large, not stale]
        total += Verdict(sent=len(goals), once=sum(goals), lost=goals.count(False))
        words.append(f"{size / MB:g} MB: {share:.0%} of the facts in {slow:.2f} s")
    return total, "; ".join(words)


def _tell(
    size: int, share: float, missing: list[Fact], inexact: list[str], readings: list[Reading]
) -> None:
    print(
        f"  {size / MB:g} MB: {share:.1%} of the facts;"
        f" slowest {max(r.seconds for r in readings):.2f} s,"
        f" {max(r.cpu for r in readings):.2f} s of CPU, {max(r.peak for r in readings)} MB;"
        f" the bytes alone {max(r.floor for r in readings):.2f} s;"
        f" of the last six things asked {[r.whole for r in readings]} word for word;"
        f" documents of {[len(r.document.encode()) for r in readings]} bytes",
        flush=True,
    )
    kinds = Counter(fact.kind for r in readings for fact in r.plan.facts)
    missed = Counter(fact.kind for fact in missing)
    for kind, count in kinds.items():
        print(f"    {kind}: {count - missed[kind]} of {count}", flush=True)
    for fact in missing[:20]:
        print(
            f"    missing, {fact.behind} compactions behind: {fact.kind} {fact.needles}"
            f" {fact.words}",
            flush=True,
        )
    for text in inexact[:10]:
        print(f"    not word for word: {text[:200]!r}", flush=True)


def main() -> int:
    """Show one document: python -m tests.prove.foreign_facts SIZE SEED."""
    from tests.kit.sm import sm_home

    size, seed = map(int, sys.argv[1:])
    with sm_home() as sm:
        reading = read(sm, size=size, seed=seed)
        print(reading.document)
        _tell(size, reading.share, reading.missing, reading.inexact, [reading])
    return 0


if __name__ == "__main__":
    sys.exit(main())
