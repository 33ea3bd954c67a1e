"""What a recovered agent is told, word for word."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.core.exchange import Exchange
from sm.core.recollection import LONGEST, budget, note, prompt, tokens
from sm.core.remains import Remains, Shown
from sm.core.retelling import Room
from sm.core.shortening import size
from sm.core.story import Request, Story, Todo, TouchedFile, Unfinished
from tests.core.test_remains import ASKED, CALL, QUIET, REPLY, remains

ROOM = Room(size=60_000, lines=10_000)
BUSY = replace(QUIET, busy=True, at=1_000.0)
SOON = 1_000.0 + 330
TEXTS = st.text(st.characters(codec="utf-8"), max_size=2_000)


def when(at: float) -> str:
    return f"T{at:.0f}"


def left(*exchanges: Exchange) -> Remains:
    return replace(remains(*exchanges, crash=BUSY), now=SOON)


def test_the_prompt_tells_what_happened_what_was_said_and_what_to_do() -> None:
    whole = replace(
        left(ASKED, REPLY, CALL),
        transcript="/t/c.jsonl",
        git="branch: main\n",
        handoff="# Port\n\nGo on.\n",
        handoff_id="HO-1",
        handoff_path="/kept/HO-1/port.md",
        story=Story(
            cwd="/shop",
            todos=(Todo(text="the docs"),),
            files=(TouchedFile(path="/shop/a.py", reads=1, changes=2, at=1.0),),
            unfinished=(Unfinished(kind="sub-agent", what="count", at=1.0, id="a1"),),
        ),
        carried=(
            Request(text="How it all began", at=1.0),
            Request(text="Then", at=2.0, sender="bob"),
        ),
        survivors=("process 5: make",),
        background=("a server",),
    )

    assert (
        prompt(whole, ROOM, when).text
        == """\
You were working on a task when your session crashed. sm has started you again, in a fresh \
context: of what was before you know only what stands here.

- What happened: the agent was ended by signal 9, 5 minutes ago (T1000 UTC), in the middle of a \
turn.
- Session ada, context 1, working directory: `/shop`
- The whole transcript (search it, do not read it): `/t/c.jsonl`

## Your Previous Conversation

Oldest first:

```
[the person]
Port it
[you said]
Done.
[tool] Bash: make → no result on record
```

## Your Handoff State

The document of your last handoff (HO-1, whole at `/kept/HO-1/port.md`):

```
# Port

Go on.
```

### Asked before that

- (T1) How it all began
- (the session bob, T2) Then

### Open todo items

- [ ] the docs

### Files

Changed (× how often):

```
a.py ×2
```

### In the background until then

- sub-agent a1: `count` (begun T1, no end on record)
- a server

## Cut off

- Bash `make` has no result. It still runs (process 5: make): wait for it or end it, do not begin \
it twice.

## Git

```
branch: main
```

## Instructions

Resume from where you left off. Complete what was in progress. If you were waiting for the \
person's input, ask again. Do not apologise for the crash: just continue working.
"""
    )


def test_where_nothing_was_open_the_agent_waits() -> None:
    """An idle agent that comes back must not invent work for itself."""
    idle = replace(remains(ASKED, REPLY), now=SOON)

    told = prompt(idle, ROOM, when).text

    assert told.startswith("Your session crashed. sm has started you again")
    assert "while no turn was running" in told
    assert "## Cut off" not in told
    assert "No turn was running and nothing was left open" in told
    assert "wait for the next prompt" in told
    assert "wait for the next prompt" in note(idle, LONGEST, when)


def test_without_a_transcript_the_terminal_speaks() -> None:
    terminal = Shown(source="the terminal's log", lines=("$ make", "ok"))

    told = prompt(replace(left(), shown=terminal), ROOM, when)

    assert "As the terminal's log shows it, newest last:\n\n```\n$ make\nok\n```\n" in told.text
    assert told.lines == 2
    parsed = replace(left(ASKED), shown=terminal, source="the terminal's log")
    assert "As the terminal's log tells it. Oldest first:" in prompt(parsed, ROOM, when).text


def test_without_anything_sm_tells_what_it_delivered() -> None:
    delivered = (Request(text="Port the reader", at=1.0),)

    told = prompt(replace(left(), delivered=delivered), ROOM, when).text

    assert "What sm had given you last:\n\n```\nPort the reader\n```\n" in told
    assert "Nothing of it could be read.\n" in prompt(left(), ROOM, when).text


def test_the_note_is_short_and_names_what_the_agent_cannot_know() -> None:
    """A resumed agent has its conversation; it does not know that it died, nor what was cut."""
    resumed = replace(
        left(ASKED, CALL), survivors=("process 5: make",), unrecorded=("say {hello}",)
    )

    assert (
        note(resumed, LONGEST, when)
        == """\
Your session crashed, and sm has resumed it: the agent was ended by signal 9, 5 minutes ago \
(T1000 UTC), in the middle of a turn.

What was cut off:

- Bash `make` has no result. It still runs (process 5: make): wait for it or end it, do not begin \
it twice.

Still to be done:

(taken by you; your record lacks it):

```
say {hello}
```

Resume from where you left off. Complete what was in progress. If you were waiting for the \
person's input, ask again. Do not apologise for the crash: just continue working."""
    )


def test_a_message_in_a_note_is_whole_however_long() -> None:
    long = "word\n" * 20_000

    assert long in note(replace(left(ASKED, REPLY), unrecorded=(long,)), LONGEST, when)
    assert len(note(replace(left(), unrecorded=(long * 9,)), LONGEST, when)) <= LONGEST


def test_a_note_is_no_longer_than_what_carries_it() -> None:
    """What is left out of a message is said; one that fits beside the rest stays whole."""
    short, long = "mind the gap", "word\n" * 20_000
    calls = [replace(CALL, text=f"make {'x' * 250} {n}") for n in range(100)]

    told = note(replace(left(ASKED, *calls), unrecorded=(short, long)), 9_200, when)

    assert len(told.encode()) <= 9_200
    assert f"```\n{short}\n```" in told
    assert "bytes left out" in told
    assert "make" in told
    assert told.endswith("just continue working.")


def test_a_template_takes_the_place_of_all_words() -> None:
    template = "Up again: {reason}\n{transcript}\n{scrollback}\n{handoff}|{partial_work}|{git}|{no}"
    brace = replace(ASKED, text="say {git} and {0} and %s and \\1")

    told = prompt(replace(left(brace, CALL), git="branch: main"), ROOM, when, template).text

    assert told.startswith("Up again: the agent was ended by signal 9, 5 minutes ago")
    assert "say {git} and {0} and %s and \\1\n" in told
    assert "Nothing of the terminal could be read." in told
    assert told.endswith("|```\nbranch: main\n```|{no}")
    assert "- Bash `make` has no result." in told
    assert "## Instructions" not in told


def test_a_template_without_anything_to_fill_in_is_told_as_it_is() -> None:
    assert prompt(left(ASKED), ROOM, when, "You crashed. Go on.").text == "You crashed. Go on."


@pytest.mark.parametrize(
    ("percent", "window", "warns_at", "tokens_at_most"),
    [
        (60, 200_000, None, 116_666),
        (60, 200_000, 100_000, 80_000),
        (30, 200_000, 100_000, 60_000),
        (60, 20_000, 10_000, 8_000),
        (60, 20_000, 1_000, 500),
        (60, 1_000_000, 500_000, 116_666),
    ],
)
def test_the_budget_stays_clear_of_the_first_warning(
    percent: float, window: int, warns_at: int | None, tokens_at_most: int
) -> None:
    """A recovered context does not begin with being told that it is full."""
    size = budget(percent, window, warns_at)

    assert size // 3 == max(tokens_at_most, 666)
    assert size <= LONGEST


def test_tokens_are_estimated_rather_too_high() -> None:
    assert tokens("word " * 300) == 500


@given(
    st.lists(TEXTS, max_size=20),
    TEXTS, TEXTS, st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=5),
    st.integers(2_000, 40_000), st.integers(1, 300),
    st.sampled_from(["", "{transcript}{scrollback}{transcript}{handoff}{git}{partial_work}"]),
)  # fmt: skip
def test_a_prompt_is_never_over_its_budget(
    said: list[str],
    handoff: str,
    git: str,
    unrecorded: list[str],
    processes: list[str],
    room: int,
    lines: int,
    template: str,
) -> None:
    whole = replace(
        left(*(replace(ASKED if n % 3 else CALL, text=text) for n, text in enumerate(said))),
        handoff=handoff * 9,
        git=git * 9,
        unrecorded=tuple(unrecorded),
        survivors=tuple(processes),
        carried=tuple(Request(text=text, at=1.0) for text in said),
        shown=Shown(source="the log", lines=tuple(said)),
    )

    told = prompt(whole, Room(size=room, lines=lines), when, template)

    assert size(told.text) <= room
    assert told.lines <= lines * max(1, template.count("{transcript}") + 1)
    if not template:
        assert "## Instructions" in told.text


@pytest.mark.parametrize("template", ["", "{handoff}", "{handoff}{git}" * 4])
def test_not_even_fences_take_a_prompt_over_its_budget(template: str) -> None:
    """They grow with what stands between them."""
    whole = replace(left(ASKED), handoff="`" * 90_000, git="`" * 90_000)

    assert size(prompt(whole, Room(size=20_000, lines=99), when, template).text) <= 20_000


def test_the_latest_request_is_exact_beside_much_else() -> None:
    wish = "Port it\n\n  with `all` its\ttests — “so” " * 20
    many = [replace(REPLY, text="so be it " * 400) for _ in range(200)]
    whole = replace(
        left(*many, replace(ASKED, text=wish), *many, CALL), handoff="x" * 99_999, git="y" * 99_999
    )

    told = prompt(whole, Room(size=20_000, lines=10_000), when).text

    assert f"]\n{wish}\n" in told
    assert told.index(wish) < told.index("## Your Handoff State") < told.index("## Cut off")
