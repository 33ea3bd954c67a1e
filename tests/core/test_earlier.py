"""What the contexts before left behind, for the one that goes on."""

from dataclasses import replace

import pytest

from sm.core import earlier
from sm.core.earlier import NEWEST, Earlier, answered, outcome
from sm.core.shortening import size
from sm.core.story import (
    Command,
    Decision,
    Failure,
    Request,
    Story,
    Todo,
    TouchedFile,
    Trouble,
    Unfinished,
    Utterance,
)

WHOLE = 10**6
DOCUMENT = "/kept/HO-1/document.md"
STORY = Story(
    cwd="/shop",
    ended_at=9.0,
    requests=(Request(text="Begin with the tax", at=1.0), Request(text="Port the reader", at=2.0)),
    todos=(Todo(text="sweep"),),
    decisions=(Decision(text="We chose Redis.", at=3.0),),
    files=(
        TouchedFile(path="/shop/read.py", reads=2, changes=0, at=3.0),
        TouchedFile(path="/shop/changed.py", reads=0, changes=2, at=3.0),
    ),
    commands=(Command(line="make test", at=4.0, said="12 passed"),),
    failures=(
        Failure(what="make deploy", error="no route", at=5.0),
        Failure(what="make lint", error="E501", at=5.0, is_mended=True),
    ),
    troubles=(Trouble(text="overloaded", at=5.0),),
    unfinished=(Unfinished(kind="call", what="make wheel", at=6.0),),
    last=(Utterance(who="agent", text="long words"),),
    last_words="The reader is ported.",
    is_at_rest=True,
    answered_at=8.0,
)
FIRST = Earlier(number=1, ended_at=9.0, how="handoff HO-1", story=STORY, document=DOCUMENT)


def when(at: float) -> str:
    return f"at {at:g}"


def told(*contexts: Earlier, limit: int = WHOLE) -> str:
    return earlier.chapter(contexts, when).render(limit)


def test_a_context_tells_what_was_done_and_where_its_document_is() -> None:
    assert told(replace(FIRST, story=outcome(STORY))).splitlines() == [
        f"Context 1, until at 9. Its last turn came to its end. Its document: `{DOCUMENT}`",
        "",
        "- Asked last: Port the reader",
        "- Decided: We chose Redis.",
        "- Changed: changed.py",
        "- `make test` → ok: `12 passed`",
        "- `make deploy` failed, not mended: `no route`",
        "- `make wheel` was begun and has no result",
        "- The agent's last words: The reader is ported.",
        "",
    ]


def test_a_turn_that_was_cut_is_told_as_such() -> None:
    assert "Its last turn was cut." in told(replace(FIRST, story=replace(STORY, is_at_rest=False)))


def test_of_a_transcript_that_is_gone_the_document_is_left() -> None:
    gone = replace(FIRST, story=Story(), transcript="/t.jsonl")

    assert told(gone).startswith(
        "Context 1, until at 9. Its transcript cannot be read any more."
        " Its document: `/kept/HO-1/document.md`\n"
    )
    assert "Left by: cleared" in told(replace(gone, document="", how="cleared"))


def test_nothing_before_is_not_told() -> None:
    assert told() == ""


def full(number: int) -> Earlier:
    commands = tuple(Command(line=f"make {number}-{n}", at=float(n)) for n in range(500))
    return replace(FIRST, number=number, story=replace(STORY, commands=commands))


@pytest.mark.parametrize("limit", [1_000, 2_500, 8_000, WHOLE])
def test_the_older_the_shorter_and_all_within_the_limit(limit: int) -> None:
    text = told(*(full(n) for n in range(1, 7)), limit=limit)

    sizes = [size(part) for part in text.split("Context ")[1:]]
    assert size(text) <= limit
    assert sizes[1:] == sorted(sizes[1:])
    assert "make 6-499" in text
    assert "Context 1," in text, "how it all began"


def test_each_older_one_has_half_the_room() -> None:
    text = told(*(full(n) for n in range(1, 5)))

    _, older, old, newest = (size(part) for part in text.split("Context ")[1:])
    assert newest > NEWEST * 0.9
    assert older <= NEWEST / 4 < old <= NEWEST / 2


def test_where_there_is_hardly_room_nothing_is_half_told() -> None:
    assert told(full(1), full(2), limit=100) == ""


def test_a_request_is_answered_where_its_turn_ends() -> None:
    first, second = STORY.requests
    cut = replace(second, at=8.5)
    waiting = replace(second, is_waiting=True)
    stories = [(1, STORY), (2, Story()), (3, Story(answered_at=20.0))]

    found = answered([(1, first), (1, cut), (1, waiting)], stories)

    assert [request.answered_in for request in found] == [1, 3, None]
    assert answered([(1, cut)], stories[:2])[0].answered_in is None
