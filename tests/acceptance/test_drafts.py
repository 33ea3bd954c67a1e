"""Automatic documents against planted facts, in short; `make prove` shows the whole sizes."""

from pathlib import Path

import pytest

from sm.core.draft import BUDGET
from tests.kit.planted import plant
from tests.prove.drafts import SHARE, judged


@pytest.mark.parametrize("long_request", [False, True])
@pytest.mark.parametrize("size", [200_000, 5_000_000])
def test_a_document_tells_what_matters(size: int, long_request: bool, tmp_path: Path) -> None:
    """Of 30 planted facts nearly all, what was asked exactly, and never a thought."""
    planted = plant(tmp_path / "t.jsonl", size, seed=11, long_request=long_request)
    outcome = judged(planted)

    assert len(planted.facts) == 30
    assert len({fact.kind for fact in planted.facts}) == 10
    assert any(fact.behind for fact in planted.facts)
    assert outcome.share >= SHARE, outcome.missing
    assert outcome.exact
    assert outcome.leaks == ()
    assert outcome.size <= BUDGET
