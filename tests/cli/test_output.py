"""What commands share: colours, tables, times."""

import argparse
import os
import pty
import subprocess
import time
from collections.abc import Mapping

import pytest

from sm.cli import output
from tests.kit.sm import SM, Sm


def _on_a_terminal(sm: Sm, environment: Mapping[str, str]) -> str:
    ours, theirs = pty.openpty()
    subprocess.run([SM, "ls"], stdout=theirs, env={**sm.environment, **environment}, check=True)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    return shown


def test_states_are_coloured_on_a_terminal_only(sm: Sm) -> None:
    """Never into a pipe; never with NO_COLOR."""
    assert "\x1b[32midle\x1b[0m" in _on_a_terminal(sm, {})
    assert "\x1b" not in _on_a_terminal(sm, {"NO_COLOR": "1"})
    assert "\x1b" not in sm.run("ls")


def test_no_color_is_honoured_even_when_it_is_empty(sm: Sm) -> None:
    """Being set is what counts for some, being non-empty for others: we take the quieter way."""
    assert "\x1b" not in _on_a_terminal(sm, {"NO_COLOR": ""})


def test_columns_are_as_wide_as_their_widest_cell(capsys: pytest.CaptureFixture[str]) -> None:
    """Wide characters take two columns; the last cell leaves no blanks behind."""
    output.table(["A", "BB", "C"], [["漢字", "b", "c"], ["a", "\x1b[32midle\x1b[0m", ""]])

    assert capsys.readouterr().out == ("A     BB    C\n漢字  b     c\na     \x1b[32midle\x1b[0m\n")


@pytest.mark.parametrize(
    ("given", "shown"),
    [("\x1b[31mred\x1b]0;title\a", "\ufffd[31mred\ufffd]0;title\ufffd"),
     ("two\nlines\tand a tab", "two\ufffdlines\ufffdand a tab"),
     ("\x9b31m", "\ufffd31m"), ("\x1b[32midle\x1b[0m!", "\x1b[32midle\x1b[0m!")],
)  # fmt: skip
def test_a_cell_gives_the_terminal_no_orders(
    capsys: pytest.CaptureFixture[str], given: str, shown: str
) -> None:
    """But for the colour of a state, which is ours."""
    output.table(["A"], [[given]])
    output.listing({"a": given})

    assert capsys.readouterr().out == f"A\n{shown}\na  {shown}\n"


@pytest.mark.parametrize("line", ["ls", "show evil", "explain evil", "new x --cwd ./no\x1bthing"])
def test_the_name_of_a_folder_gives_the_terminal_no_orders(sm: Sm, line: str) -> None:
    """Whoever made it: nothing of it is obeyed."""
    folder = sm.work / "esc\x1b[31mred\x1b]0;title\a\nnext"
    folder.mkdir(exist_ok=True)
    session = sm.run("new", "evil", "--agent", "cat", cwd=folder)
    done = sm.start(*line.split())
    sm.run("kill", session.strip())

    assert "\x1b" not in done.stdout + done.stderr
    assert "\nnext" not in done.stdout


@pytest.mark.parametrize(
    ("ago", "word"),
    [(0, "0s"), (-5, "0s"), (89, "89s"), (91, "2m"), (5399, "90m"), (7200, "2h"), (864_000, "10d")],
)
def test_ages_are_one_short_word(ago: float, word: str) -> None:
    """A clock that runs ahead is no negative age."""
    assert output.age(time.time() - ago) == word


@pytest.mark.parametrize(
    ("text", "value"), [("90", 90), ("30s", 30), ("1.5m", 90), ("1h30m", 5400), ("2d", 172_800)]
)
def test_times_are_read_as_people_write_them(text: str, value: float) -> None:
    """A plain number is seconds."""
    assert output.seconds(text) == value


@pytest.mark.parametrize(
    "text", ["", "x", "-5", "5y", "nan", "inf", "1e9d", "m", "\uff11s", "1h30"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    """Not in the past, not for ever."""
    with pytest.raises(argparse.ArgumentTypeError, match="is no time; write 30s, 10m, 1h or 2d"):
        output.seconds(text)


def test_long_texts_are_cut_to_one_line() -> None:
    """With a sign that there is more."""
    assert output.brief("a\n b\tc") == "a b c"
    assert output.brief("x" * 80, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("told", "old"),
    [
        ("tmux 2.9", True), ("tmux 3.1c", True), ("tmux 3.2", False), ("tmux 3.3a", False),
        ("tmux next-3.4", False), ("tmux 10.0", False), ("tmux master", False), ("", False),
    ],
)  # fmt: skip
def test_a_tmux_before_3_2_is_too_old(told: str, old: bool) -> None:
    """One that names no number is the development version."""
    assert output.is_too_old(told) is old
