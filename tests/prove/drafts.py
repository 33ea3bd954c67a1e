"""Automatic documents against planted facts: the share found, exact requests, and the time."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sm.adapters.agents.claude import story
from sm.core.draft import BUDGET, Heading, compose
from sm.engine.cleaning import without_secrets
from sm.redaction.redactor import Redactor
from tests.kit.planted import Planted, found, plant
from tests.kit.sm import Sm
from tests.prove.ledger import Verdict

SIZES = {"200 KB": 200_000, "5 MB": 5_000_000, "100 MB": 100_000_000}
SHARE, WITHIN = 0.95, 1.0
HUNDRED = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    facts: int
    missing: tuple[str, ...]
    """Kind and words of each fact that the document does not tell."""
    exact: bool
    """The first and the latest requests, word for word; over 8 KB, in a side file."""
    leaks: tuple[str, ...]
    """What must not be in it and is."""
    size: int
    seconds: float
    """For reading, taking secrets out and composing, the best of a few."""
    floor: float
    """For merely reading the file."""

    @property
    def share(self) -> float:
        return 1 - len(self.missing) / self.facts


def judged(planted: Planted) -> Outcome:
    redactor = Redactor()

    def drafted() -> tuple[str, tuple[str, ...]]:
        found = story.read(planted.path)
        assert found is not None
        told = without_secrets(found.mapped, redactor.redact)
        heading = Heading(
            id="HO-20261116-000000-c74cc080", session="c74cc080", channel="harbour",
            created="2026-11-16T00:00:00Z", kind="auto", cwd=told.cwd,
        )  # fmt: skip
        draft = compose(told, heading, budget=BUDGET, when=lambda at: f"{at:.0f}")
        return draft.text, tuple(aside.text for aside in draft.asides)

    document, asides = drafted()
    requests = (planted.first_request, *planted.latest_requests)
    return Outcome(
        facts=len(planted.facts),
        missing=tuple(f"{f.kind}: {f.words}" for f in planted.facts if not found(f, document)),
        exact=all(request in document or request in asides for request in requests),
        leaks=tuple(words for words in (*planted.secrets, *planted.never) if words in document),
        size=len(document.encode()),
        seconds=_fastest(drafted),
        floor=_fastest(lambda: _read(planted.path)),
    )


def _fastest(do: Callable[[], object], times: int = 3) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        do()
        taken.append(time.perf_counter() - began)
    return min(taken)


def _read(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 20):
            pass


def planted_facts(sm: Sm, seeds: int = 5) -> tuple[Verdict, str]:
    """Every size, several seeds; half of them with a request too long for the document."""
    path = sm.folder / "planted.jsonl"
    verdict, shares, worst, floor = Verdict(), [], 0.0, 0.0
    for name, size in SIZES.items():
        for seed in range(seeds):
            outcome = judged(plant(path, size, seed=seed, long_request=seed % 2 == 1))
            print(f"  {name}, seed {seed}: {_words(outcome)}", flush=True)
            shares.append(outcome.share)
            is_good = outcome.share >= SHARE and outcome.size <= BUDGET and not outcome.leaks
            verdict += Verdict(sent=1, once=int(is_good), changed=int(not outcome.exact))
            if size == HUNDRED:
                scale = HUNDRED / path.stat().st_size
                worst, floor = max(worst, outcome.seconds * scale), outcome.floor * scale
    path.unlink()
    verdict.lost += int(worst > WITHIN)
    words = (
        f"{statistics.mean(shares):.1%} of the facts, worst {min(shares):.1%}, in {BUDGET} bytes;"
        f" 100 MB in {worst:.2f} s, reading the file alone {floor:.2f} s"
    )
    return verdict, words


def _words(outcome: Outcome) -> str:
    missing = f" without {', '.join(outcome.missing)}" if outcome.missing else ""
    return (
        f"{outcome.facts - len(outcome.missing)} of {outcome.facts}{missing},"
        f" requests {'exact' if outcome.exact else 'NOT EXACT'}, {outcome.size} bytes,"
        f" {outcome.seconds:.2f} s (floor {outcome.floor:.2f} s)"
        + (f", LEAKS {outcome.leaks}" if outcome.leaks else "")
    )
