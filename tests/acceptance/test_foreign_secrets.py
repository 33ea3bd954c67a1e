"""Short versions of what `make prove` shows of redaction: secrets nobody told the rules about."""

from tests.kit.sm import Sm
from tests.prove.foreign_secrets import FALSE_PER_MB, MB, RECALL, corpus, hits, recalls


def test_secrets_of_all_kinds_are_found_where_people_leave_them(sm: Sm) -> None:
    """In settings, commands, headers, logs, sources and transcripts: 97 in 100 at least."""
    results = recalls(sm, seed=7, count=40).values()
    missed = [sample.text for result in results for sample, _, _ in result.misses]
    total = sum(result.count for result in results)

    assert len(missed) <= (1 - RECALL) * total, (len(missed), total, missed[:20])


def test_what_stands_around_a_secret_is_kept(sm: Sm) -> None:
    """The rest of the line is still there to be understood."""
    results = recalls(sm, seed=8, count=40).values()
    found = sum(result.found for result in results)
    exact = sum(result.exact for result in results)

    assert exact >= RECALL * found


def test_sources_and_logs_are_left_alone(sm: Sm) -> None:
    """Hashes, ids, pictures and code that speaks of passwords: at most one hit in a megabyte."""
    text = corpus(14 * MB)
    counts, _ = hits(sm, text)

    assert counts.total() <= FALSE_PER_MB * len(text) / MB, counts
