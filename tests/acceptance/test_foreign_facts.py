"""Short versions of what `make prove` shows of automatic documents: foreign transcripts."""

from tests.kit.sm import Sm
from tests.prove.foreign_facts import BUDGET, KB, MB, SECONDS, SHARE, read

SESSIONS = [(200 * KB, 1), (200 * KB, 2), (200 * KB, 3), (5 * MB, 4)]


def test_a_document_tells_what_a_successor_must_know(sm: Sm) -> None:
    """Requests, decisions, todo items, files, commands, failures, work in flight: 95 in 100."""
    readings = [read(sm, size=size, seed=seed) for size, seed in SESSIONS]
    facts = [fact for reading in readings for fact in reading.plan.facts]
    missing = [fact for reading in readings for fact in reading.missing]

    assert len(missing) <= (1 - SHARE) * len(facts), missing


def test_a_document_quotes_the_latest_requests_and_keeps_its_budget(sm: Sm) -> None:
    """Word for word, with code, quotes and other scripts in them; nothing done is called open."""
    readings = [read(sm, size=size, seed=seed) for size, seed in SESSIONS]

    assert [text for reading in readings for text in reading.inexact] == []
    assert [item for reading in readings for item in reading.stale] == []
    assert max(len(reading.document.encode()) for reading in readings) <= BUDGET
    assert max(reading.seconds for reading in readings) < 5 * SECONDS
