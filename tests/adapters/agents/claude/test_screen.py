"""Claude Code's screen; the samples are from the real client in a real tmux."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.agents.views import view_of

from sm.adapters.agents.claude.screen import box_holds, box_holds_only, is_fresh, read_screen
from sm.core import envelope
from sm.core.ids import MessageId
from sm.core.terminal import Screen, Sign, View

MESSAGE = MessageId("0123456789ab")
RULE = "─" * 60


def view(*lines: str, title: str = "✳ Claude Code") -> View:
    return view_of(lines, title=title, size=(60, 24))


def _samples() -> dict[str, View]:
    text = Path(__file__).with_name("screens.txt").read_text("utf-8")
    found = {}
    for part in text.split("=== ")[1:]:
        name, head, *lines = part.removesuffix("\n").split("\n")
        title = re.match(r"    title=(.*) cursor=", head)
        assert title is not None
        found[name] = view(*lines, title=title.group(1))
    return found


SAMPLES = _samples()


@pytest.mark.parametrize(
    ("name", "sign", "draft"),
    [
        ("onboarding seeded, key and trust not", Sign.DIALOG, ""),
        ("idle, empty box, no statusLine", Sign.PROMPT, ""),
        ("idle, half-typed", Sign.PROMPT, "half typed"),
        ("busy, waiting on the API, no statusLine", Sign.BUSY, ""),
        ("busy with half-typed text", Sign.BUSY, "half"),
        ("idle after a turn (session title known)", Sign.PROMPT, ""),
        ("permission dialog Bash", Sign.DIALOG, ""),
        ("after Escape in the dialog", Sign.PROMPT, ""),
        ("permission dialog Write", Sign.DIALOG, ""),
        ("AskUserQuestion", Sign.DIALOG, ""),
        ("tool running (sleep allowed?)", Sign.BUSY, ""),
        ("compaction running", Sign.BUSY, ""),
        ("/resume picker", Sign.UNKNOWN, ""),
        ("slash popup", Sign.PROMPT, "/cl"),
        ("-n agent-7, statusLine set", Sign.PROMPT, ""),
        ("clearing, command just sent", Sign.BUSY, ""),
        ("clearing, title already idle", Sign.PROMPT, ""),
        ("fresh after /clear", Sign.PROMPT, ""),
        ("history search, statusLine set", Sign.UNKNOWN, ""),
        ("history search, nothing typed", Sign.UNKNOWN, ""),
        ("history search, found", Sign.UNKNOWN, ""),
        ("history search, nothing found", Sign.UNKNOWN, ""),
        ("history search, narrow pane", Sign.UNKNOWN, ""),
    ],
)
def test_a_screen_of_the_real_client_is_read(name: str, sign: Sign, draft: str) -> None:
    screen = read_screen(SAMPLES[name])

    assert (screen.sign, screen.draft) == (sign, draft)
    assert screen.has_box is (sign in (Sign.PROMPT, Sign.BUSY))


def test_every_sample_is_tested() -> None:
    assert len(SAMPLES) == 23


def test_an_empty_screen_is_unknown() -> None:
    assert read_screen(view(title="")) == Screen(sign=Sign.UNKNOWN)


def test_a_box_under_a_foreign_title_is_unknown() -> None:
    """Without the agent's own title nothing tells idle from busy."""
    screen = read_screen(view(RULE, "❯\xa0", RULE, title="host"))

    assert screen.sign is Sign.UNKNOWN
    assert screen.has_box


def test_an_empty_box_trimmed_on_the_way_is_a_box() -> None:
    screen = read_screen(view(RULE, "❯", RULE))

    assert (screen.sign, screen.draft) == (Sign.PROMPT, "")


def test_the_last_screen_of_a_dead_agent_is_no_prompt() -> None:
    screen = read_screen(replace(view(RULE, "❯\xa0", RULE), dead=True))

    assert screen == Screen(sign=Sign.UNKNOWN, detail="the process has ended")


def test_a_draft_that_wraps_is_read_whole() -> None:
    screen = read_screen(view(RULE, "❯\xa0one", "  two", "    three", RULE, "  hint"))

    assert screen.draft == "one\ntwo\n  three"


def test_a_numbered_prompt_in_the_history_is_no_dialog() -> None:
    """A prompt "1. fix it" is echoed as "❯ 1. fix it" above the box."""
    screen = read_screen(view("❯ 1. fix it", "", RULE, "❯\xa0", RULE))

    assert screen.sign is Sign.PROMPT


def test_a_dialog_below_an_old_box_is_a_dialog() -> None:
    """An Enter there would approve a tool: the newer sign wins."""
    screen = read_screen(view(RULE, "❯\xa0", RULE, " Do you want to proceed?", " ❯ 1. Yes"))

    assert screen.sign is Sign.DIALOG


def test_a_dialog_under_a_busy_title_is_a_dialog() -> None:
    """The title may lag behind the screen."""
    screen = read_screen(view(" ❯ 1. Yes", "   2. No", title="⠂ Claude Code"))

    assert screen == Screen(sign=Sign.DIALOG, detail="❯ 1. Yes")


def test_a_box_that_is_half_drawn_is_no_box() -> None:
    assert not read_screen(view(RULE, "❯\xa0text")).has_box
    assert not read_screen(view("❯\xa0text", RULE)).has_box


def test_an_older_box_in_the_history_is_not_the_box() -> None:
    """An agent that shows another agent's screen draws a box above its own."""
    screen = read_screen(view(RULE, "❯\xa0old", RULE, "text", RULE, "❯\xa0new", RULE))

    assert screen.draft == "new"


@pytest.mark.parametrize(
    ("draft", "held"),
    [
        (envelope.wrap(MESSAGE, "ada", "hello"), True),
        ("[sm message 0123\n456789ab from a\nda]\nhello", True),
        ("cut above\n[end of message 0123456789ab]", True),
        ("[Pasted text #3 +111 lines]", True),
        ("[Pasted text #1]", True),
        ("my draft [Pasted text #1]", False),
        (envelope.wrap(MessageId("ffffffffffff"), "ada", "hello"), False),
        ("", False),
    ],
)
def test_a_box_holds_a_message_readable_or_folded(draft: str, held: bool) -> None:
    assert box_holds(Screen(sign=Sign.PROMPT, draft=draft, has_box=True), MESSAGE) is held


@pytest.mark.parametrize(
    ("draft", "alone"),
    [
        ("Read /a and go on.\n[end of message 0123456789ab]", True),
        ("my own wordsRead /a and go on.\n[end of message 0123456789ab]", False),
        ("Read /a and go on.\n[end of message 0123456789ab]my own words", False),
        ("the end of a long one\n[end of message 0123456789ab]", True),
        ("[Pasted text #1 +7 lines]", True),
    ],
)
def test_a_box_holds_a_message_and_nobodys_words(draft: str, alone: bool) -> None:
    """An Enter sends all that stands there. The beginning of a long text may be out of sight."""
    screen = Screen(sign=Sign.PROMPT, draft=draft, has_box=True)

    assert box_holds_only(screen, MESSAGE, "Read /a and go on.") is alone


def test_a_screen_without_a_box_holds_nothing() -> None:
    assert not box_holds(Screen(sign=Sign.UNKNOWN, draft="[Pasted text #1]"), MESSAGE)


@pytest.mark.parametrize("name", SAMPLES)
def test_only_a_cleared_screen_drawn_to_its_end_is_fresh(name: str) -> None:
    """With the spinner still above the box, what is pasted is lost now and then, though the title
    says idle already."""
    assert is_fresh(SAMPLES[name]) is (name == "fresh after /clear")


def test_a_cleared_screen_of_a_busy_or_dead_client_is_not_fresh() -> None:
    fresh = SAMPLES["fresh after /clear"]

    assert not is_fresh(replace(fresh, title="⠐ Claude Code"))
    assert not is_fresh(replace(fresh, dead=True))
    assert not is_fresh(view("❯ /clear"))
    assert not is_fresh(view())


def test_an_echo_of_the_command_further_up_is_not_fresh() -> None:
    """It belongs to the context before: something was said since."""
    lines = ("❯ /clear", "", "● hello", "", RULE, "❯\xa0", RULE)
    assert not is_fresh(view(*lines))
    assert is_fresh(view("❯ /clear", "", "", RULE, "❯\xa0", RULE))


def test_a_draft_does_not_make_a_new_context_old() -> None:
    """It came back by itself; whether it is in the way is another question."""
    assert is_fresh(view("❯ /clear", "", RULE, "❯\xa0buy milk", RULE))
