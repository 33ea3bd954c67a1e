"""What a terminal shows of a conversation, in lines as the real client 2.1.197 drew them."""

import pytest

from sm.adapters.agents.claude.shown import read
from sm.core.exchange import Deed, Exchange, Result, Role

SCREEN = """\
╭─── Claude Code v2.1.197 ─────────────────────╮
│                 Welcome back!                │
╰──────────────────────────────────────────────╯


❯ please look around
  and tell me

  all of it

● I look.

● Bash(seq 1 12)
  ⎿ \xa01
     2
     … +9 lines (ctrl+o to expand)

  Read 1 file (ctrl+o to expand)

● Here is what I found:

  - point 0 of the list
  - point 1 of the list

✻ Cooked for 0s

❯ /compact
  ⎿  Compacted (ctrl+o to see full summary)

❯ write the notes

● Write(notes.md)
  ⎿  Wrote 3 lines to notes.md
      1 # Notes

● Bash(touch /home/dev/x)
  ⎿  Interrupted · What should Claude do instead?

● API Error: Repeated 529 Overloaded errors.

❯ run a tool now

● Bash(echo begin; \\
      sleep 300)
  ⎿  begin
     (3s)
     (ctrl+b to run in background)

✻ Seasoning… (4s · ↓ 17 tokens)
  ⎿  Tip: Try setting environment variable COLORTERM=truecolor for richer colors

────────────────────────────────────────────────
❯\xa0half typed
  and more
────────────────────────────────────────────────
  esc to interrupt · ← for agents
"""


def test_a_screen_is_read_as_a_conversation() -> None:
    """Banner, spinner, hints and the prompt box are none of it."""

    def said(text: str) -> Exchange:
        return Exchange(role=Role.SAID, text=text)

    def asked(text: str) -> Exchange:
        return Exchange(role=Role.ASKED, text=text)

    def called(tool: str, text: str, deed: Deed, result: Result | None) -> Exchange:
        return Exchange(role=Role.CALLED, tool=tool, text=text, deed=deed, result=result)

    printed = Result(output="1\n2\n… +9 lines (ctrl+o to expand)")
    wrote = Result(output="Wrote 3 lines to notes.md\n1 # Notes")
    stopped = Result(is_failed=True, output="Interrupted · What should Claude do instead?")
    assert read(SCREEN.splitlines()) == (
        asked("please look around\nand tell me\n\nall of it"),
        said("I look."),
        called("Bash", "seq 1 12", Deed.COMMAND, printed),
        said("Here is what I found:\n\n- point 0 of the list\n- point 1 of the list"),
        asked("write the notes"),
        called("Write", "notes.md", Deed.CHANGE, wrote),
        called("Bash", "touch /home/dev/x", Deed.COMMAND, stopped),
        Exchange(role=Role.NOTED, text="API Error: Repeated 529 Overloaded errors."),
        asked("run a tool now"),
        called("Bash", "echo begin; \\ sleep 300", Deed.COMMAND, None),
    )


@pytest.mark.parametrize("waits", ["Waiting…", "Running…", "(12s)"])
def test_a_tool_that_waits_or_runs_has_no_result(waits: str) -> None:
    (_, call) = read(["❯ go", "", "● Bash(make)", f"  ⎿  {waits}"])

    assert call.is_cut


def test_a_dialog_is_no_request() -> None:
    """Its pointer is the sign of a prompt, too."""
    lines = [
        "❯ goperm", "", "● Bash(touch x)", "  ⎿  Waiting…", "", "─" * 40, " Bash command", "",
        "   touch x", "", " Do you want to proceed?", " ❯ 1. Yes", "   2. No", "",
        "❯ 1. Left", "  2. Right",
    ]  # fmt: skip

    assert [one.text for one in read(lines)] == ["goperm", "touch x"]


def test_older_signs_are_known() -> None:
    assert [(e.role, e.text) for e in read(["> fix it", "", "⏺ Fixed."])] == [
        (Role.ASKED, "fix it"), (Role.SAID, "Fixed."),
    ]  # fmt: skip


def test_what_is_drawn_twice_in_a_row_is_told_once() -> None:
    assert len(read(["❯ go", "● Yes.", "● Yes.", "❯ go"])) == 3


@pytest.mark.parametrize(
    "lines",
    [[], ["$ make", "ok", "$ "], ["  ⎿  only a result"], ["● Bash(make)"], ["/tmp > ls", "a"]],
)
def test_other_terminals_show_no_conversation(lines: list[str]) -> None:
    """Their text is then told as it is."""
    assert read(lines) == ()
