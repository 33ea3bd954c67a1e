"""The sources of a recollection: the best that can be read, and a word for each that cannot."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from sm.adapters.agents import Dialects
from sm.core.crash import Cause, Crash, Recovery
from sm.core.envelope import wrap
from sm.core.ids import MessageId, RecoveryId
from sm.core.remains import AFRESH, AT_WORK, WENT_ON
from sm.core.state import PastContext, Session
from sm.engine.sources import Log, Snapshot, Sources
from tests.adapters.agents.claude.telling import asks, calls, entry, says, write
from tests.core.samples import CONTEXT, IDLE

LINES = ["❯ Port it", "", "● Done.", ""]


def of(path: Path | str | None, agent: str = "claude") -> Sources:
    context = replace(IDLE.context, transcript=None if path is None else str(path))
    session: Session = replace(IDLE, agent=agent, context=context)
    return Sources(session, Dialects().named(agent))


def after(past: Path, path: Path, *, turns: int) -> Session:
    """Recovered once, from a context with this past transcript; so many turns since."""
    session = of(path).session
    lineage = PastContext(
        number=1, id=CONTEXT, transcript=str(past), tokens=None, ended_at=1.0, how="recovery r1"
    )
    return replace(
        session, lineage=(lineage,), context=replace(session.context, number=2, turns=turns)
    )


def read(
    path: Path | str | None,
    lines: list[str] | OSError | None = None,
    snapshot: tuple[str, float] | OSError | None = None,
    agent: str = "claude",
) -> Sources:
    """From a transcript, what a log's end shows, and a snapshot."""

    def log(_session: str, most: int) -> list[str]:
        if lines is None:
            raise FileNotFoundError
        if isinstance(lines, OSError):
            raise lines
        return lines[-most:]

    def taken(_session: str) -> tuple[str, float] | None:
        if isinstance(snapshot, OSError):
            raise snapshot
        return snapshot

    shows: Log = log
    took: Snapshot = taken
    sources = of(path, agent)
    sources.read_transcript(100_000)
    if not sources.exchanges:
        sources.read_terminal(shows, 1_000, took)
    return sources


def test_a_transcript_is_enough(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl", asks("Port it", 1), says("Yes.", 2), says("Done.", 3), asks("more", 4)
    )

    sources = read(path, LINES)

    assert sources.used == ["transcript: 2 requests, 2 replies"]
    assert sources.skipped == []
    assert [one.text for one in sources.exchanges] == ["Port it", "Yes.", "Done.", "more"]
    assert sources.flaw is None
    assert sources.shown is None


def test_an_agent_that_died_before_it_was_told_anything_has_the_memory_of_the_one_before(
    tmp_path: Path,
) -> None:
    """Its own context is empty; it cannot be resumed all the same."""
    path = write(tmp_path / "t.jsonl", asks("Port it"), says("Done."))
    past = PastContext(
        number=1, id=CONTEXT, transcript=str(path), tokens=None, ended_at=1.0, how="recovery r1"
    )
    fresh = replace(of(tmp_path / "none.jsonl").session, lineage=(past,))
    sources = Sources(fresh, Dialects().named("claude"))
    cleared = Sources(
        replace(fresh, lineage=(replace(past, how="cleared"),)), Dialects().named("claude")
    )

    sources.read_transcript(100_000)
    cleared.read_transcript(100_000)

    assert sources.used == ["transcript of context 1: 1 request, 1 reply"]
    assert sources.transcript == str(path)
    assert sources.skipped == ["transcript: there is none"]
    assert sources.flaw == "the transcript: there is none"
    assert cleared.used == []


def test_an_older_transcript_does_not_stand_for_a_context_that_was_at_work(tmp_path: Path) -> None:
    """What was asked since is on the terminal; the older one is read where nothing else is left."""
    past = write(tmp_path / "t.jsonl", asks("Port it"), calls("Bash", command="sleep 77"))
    gone = Sources(after(past, tmp_path / "none", turns=2), Dialects().named("claude"))

    gone.read_transcript(100_000)
    assert (gone.used, gone.is_older) == ([], False)

    gone.read_older(100_000)
    assert gone.used == ["transcript of context 1: 1 request, 0 replies"]
    assert gone.is_older


def test_what_led_to_a_context_is_read_and_not_what_it_was_told_of_it(tmp_path: Path) -> None:
    """A text within a text within a text would at last have no room for how it all began."""
    first = write(tmp_path / "1.jsonl", asks("Port it", 1), calls("Bash", second=2, command="one"))
    told = wrap(MessageId("0123456789ab"), "sm", f"{AT_WORK}. {AFRESH}: of what was before …")
    second = write(tmp_path / "2.jsonl", asks(told, 3), calls("Bash", second=4, command="two"))
    session = after(second, tmp_path / "3.jsonl", turns=1)
    third = write(tmp_path / "3.jsonl", asks(told, 5), calls("Bash", second=6, command="three"))
    oldest = replace(session.lineage[0], number=0, transcript=str(first))
    lost = replace(oldest, transcript=str(tmp_path / "none.jsonl"))
    sources = Sources(
        replace(session, lineage=(lost, oldest, *session.lineage)), Dialects().named("claude")
    )

    sources.read_transcript(100_000)

    texts = [one.text for one in sources.exchanges]
    assert texts == ["Port it", "one", "two", WENT_ON.text, "three"]
    assert sources.transcript == str(third)
    assert sources.used == [
        "transcript: 0 requests, 0 replies",
        "transcript of context 1: 1 exchange",
        "transcript of context 0: 2 exchanges",
    ]
    assert sources.skipped == [], "an agent may die before it writes anything down"


def test_what_a_context_before_a_clear_held_is_not_told_again(tmp_path: Path) -> None:
    past = write(tmp_path / "1.jsonl", asks("Port it"), says("Done."))
    path = write(tmp_path / "2.jsonl", asks("Now rest", 9))
    session = after(past, path, turns=1)
    left = replace(session, lineage=(replace(session.lineage[0], how="clear"),))
    sources = Sources(left, Dialects().named("claude"))

    sources.read_transcript(100_000)

    assert [one.text for one in sources.exchanges] == ["Now rest"]


def test_to_be_told_of_a_crash_is_no_work_yet(tmp_path: Path) -> None:
    """It died again before it had said a word to that: there is nothing newer on the terminal."""
    whole = write(tmp_path / "t.jsonl", asks("Port it"))
    crash = Crash(at=2.0, cause=Cause.SIGNAL, words="it was ended", busy=True)
    told = Recovery(
        id=RecoveryId("r1"), crash=crash, by="you", asked_at=1.0, message=MessageId("m1")
    )
    session = replace(after(whole, tmp_path / "no", turns=1), crash=crash, recoveries=(told,))
    asked = replace(session, crash=replace(crash, taken=(MessageId("m2"),)))

    for died, used in ((session, ["transcript of context 1: 1 request, 0 replies"]), (asked, [])):
        sources = Sources(died, Dialects().named("claude"))
        sources.read_transcript(100_000)
        assert sources.used == used


def test_a_context_that_was_never_asked_anything_goes_on_from_the_one_before(
    tmp_path: Path,
) -> None:
    """Also over several: but not past one that was at work and whose record is gone."""
    whole = write(tmp_path / "t.jsonl", asks("Port it"))
    session = after(whole, tmp_path / "none", turns=0)
    empty = replace(session.lineage[0], number=2, transcript=str(tmp_path / "none"))
    twice = replace(session, lineage=(*session.lineage, empty))
    lost = replace(session, lineage=(*session.lineage, replace(empty, tokens=900)))

    for died, used in ((twice, ["transcript of context 1: 1 request, 0 replies"]), (lost, [])):
        sources = Sources(died, Dialects().named("claude"))
        sources.read_transcript(100_000)
        assert sources.used == used
        assert not sources.is_older


def test_torn_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    torn = b'{"type":"assistant","mess'
    path = write(tmp_path / "t.jsonl", asks("Port it"), torn + b"\n", says("Done."), torn)

    sources = read(path)

    assert sources.skipped == ["transcript: 2 torn lines were skipped"]
    assert sources.flaw == "its last record is torn"
    assert len(sources.exchanges) == 2


def test_what_was_typed_and_not_given_comes_last(tmp_path: Path) -> None:
    queued = entry("queue-operation", 9, operation="enqueue", content="and the docs")
    path = write(tmp_path / "t.jsonl", asks("Port it"), calls("Bash", command="make"), queued)

    *_, last = read(path).exchanges

    assert (last.text, last.is_waiting) == ("and the docs", True)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "there is none"),
        (b"", "it is empty"),
        (b"\x93NUMPY\x01" * 999, "there is no record of a conversation in it"),
        (b'{"type":"mode"}\n', "there is no record of a conversation in it"),
    ],
)
def test_without_a_usable_transcript_the_terminal_is_read(
    tmp_path: Path, content: bytes | None, why: str
) -> None:
    path = tmp_path / "t.jsonl"
    if content is not None:
        path.write_bytes(content)

    sources = read(path, LINES)

    assert sources.skipped == [f"transcript: {why}"]
    assert sources.flaw == f"the transcript: {why}"
    assert sources.used == ["terminal log: 4 lines, 1 request, 1 reply"]
    assert [one.text for one in sources.exchanges] == ["Port it", "Done."]
    assert sources.source == "the terminal's log"


def test_a_pipe_in_the_transcripts_place_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write into it."""
    os.mkfifo(tmp_path / "t.jsonl")

    sources = read(tmp_path / "t.jsonl", LINES)

    assert sources.skipped == ["transcript: it is not a file"]
    assert sources.used == ["terminal log: 4 lines, 1 request, 1 reply"]


def test_what_may_not_be_read_is_named_as_such(tmp_path: Path) -> None:
    """Here a folder: tests may run as root, who may read every file."""
    sources = read(tmp_path, PermissionError(13, "Permission denied"))

    assert sources.skipped == [
        "transcript: it is not a file",
        "terminal log: cannot be read: Permission denied",
        "snapshot: there is none",
    ]
    assert sources.used == []


def test_an_agent_without_a_record_is_read_from_its_terminal() -> None:
    sources = read(None, ["$ make", "ok"], agent="cat")

    assert sources.skipped == [
        "transcript: its agent told of none",
        "terminal log: no conversation recognised in it, used as it is",
    ]
    assert sources.shown is not None
    assert sources.shown.lines == ("$ make", "ok")


def test_the_snapshot_speaks_where_the_log_is_gone() -> None:
    sources = read(None, None, ("❯ Port it\n\n● Done.\n", 60.0))

    assert sources.skipped[1:] == ["terminal log: there is none"]
    assert sources.used == ["snapshot: 3 lines, 1 request, 1 reply"]
    assert sources.source == "the snapshot of 1970-01-01 00:01 UTC"


def test_garbage_is_never_told_and_what_is_left_is_not_understood() -> None:
    """A log with binary garbage in it is no conversation; its readable lines are told as they
    are."""
    noise = [os.urandom(60).decode(errors="replace") for _ in range(20)]

    some = read(None, [*LINES * 6, *noise])
    assert some.shown is not None
    assert "20 of 44 lines are binary garbage, the rest is used as it is" in some.skipped[-1]
    assert some.shown.lines == tuple(LINES * 6)
    assert some.exchanges == ()

    assert read(None, noise, None).skipped[1:] == [
        "terminal log: binary garbage, not used",
        "snapshot: there is none",
    ]
    few = read(None, [*LINES * 20, *noise[:2]])
    assert few.skipped[-1] == "terminal log: 2 of 82 lines are binary garbage"
    assert few.exchanges


def test_two_signs_in_much_else_are_no_conversation() -> None:
    lines = [*(f"build step {n}" for n in range(200)), *LINES]

    assert read(None, lines).exchanges == ()
    assert read(None, [*lines[-30:]]).exchanges == ()
    assert read(None, [*lines[-10:]]).exchanges


def test_an_empty_terminal_is_no_source() -> None:
    assert read(None, ["", "  "], OSError(5, "Input/output error")).skipped[1:] == [
        "terminal log: it is empty",
        "snapshot: cannot be read: Input/output error",
    ]
