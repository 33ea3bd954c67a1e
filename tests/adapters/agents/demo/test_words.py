"""The words around what hooks say, as the real client was seen to put them."""

import pytest

from sm.adapters.agents.demo import words


def test_a_wake_names_the_hook_and_keeps_its_text() -> None:
    """Not even the line end of what the hook said is lost."""
    assert words.notification("FileChanged", "BELL idle\n") == (
        "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n"
        '<system-reminder>\nStop hook blocking error from command "FileChanged": BELL idle\n\n'
        "</system-reminder>"
    )


@pytest.mark.parametrize(
    ("hook", "given"),
    [
        (
            "PostToolUse:Bash",
            "<system-reminder>\nPostToolUse:Bash hook additional context: x\n</system-reminder>",
        ),
        ("Stop", "<system-reminder>\nStop hook additional context: x\n</system-reminder>"),
        ("UserPromptSubmit", "UserPromptSubmit hook additional context: x"),
        ("PostToolBatch", "PostToolBatch hook additional context: x"),
        ("SessionStart:clear", "SessionStart hook additional context: x"),
    ],
)
def test_what_a_hook_adds_is_named(hook: str, given: str) -> None:
    """Beside a tool's result and after a stop it is a reminder, elsewhere plain words."""
    assert words.context(hook, "x") == given


def test_what_comes_while_the_model_works_says_whose_it_is() -> None:
    """The model must not take a notification for the person's own words."""
    said = words.queued("hello", by_person=True)
    assert said.startswith("The user sent a new message while you were working:\nhello\n\n")
    told = words.queued("<task-notification>", by_person=False)
    assert told.startswith("[SYSTEM NOTIFICATION - NOT USER INPUT]\n")
    assert told.endswith("pending question.\n\n<task-notification>")


@pytest.mark.parametrize(
    ("text", "large"), [("x" * 10_000, False), ("x" * 10_001, True), ("😀" * 5001, True)]
)
def test_more_than_ten_thousand_characters_are_too_many(text: str, large: bool) -> None:
    """Counted as JavaScript counts them."""
    assert words.is_large(text) is large


def test_of_a_large_text_the_beginning_is_shown() -> None:
    """With its size and the file that holds all of it."""
    told = words.preview("y\n" * 6002, "/f.txt")

    opening = "<persisted-output>\nOutput too large (11.7KB). Full output saved to: /f.txt\n\n"
    assert told.startswith(f"{opening}Preview (first 2KB):\ny\ny\n")
    assert told.endswith("y\ny\n...\n</persisted-output>")
    assert told.count("y\n") == 1000
    assert "(14KB)" in words.preview("x" * 14_336, "/f.txt")


def test_a_person_sees_which_hook_failed() -> None:
    """At a stop in the form of its own."""
    assert words.error("PreToolUse:Bash", "no") == "  ⎿  PreToolUse:Bash hook error\n  ⎿  no"
    assert words.error("Stop", "no").endswith("\n  ⎿  Stop hook error: no\n")
