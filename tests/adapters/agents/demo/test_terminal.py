"""The demo agent's hold on a terminal: a real pty, read by a real emulator."""

import os
import pty
import select
import termios
from collections.abc import Iterator

import pytest
from avt import Vt

from sm.adapters.agents.demo.terminal import Terminal
from sm.adapters.agents.demo.view import Bottom

from .rig import DEADLINE

_END = b"\0end"
BOX = Bottom(["─" * 20, "❯\xa0hi", "─" * 20, "  hint"], row=1, column=4)


class Window:
    """A pty of 20 by 8: the agent's end in ``terminal``, the person's end here."""

    def __init__(self) -> None:
        self.keyboard, self.tty = pty.openpty()
        termios.tcsetwinsize(self.tty, (8, 20))
        self.terminal = Terminal(self.tty, self.tty)
        self._vt = Vt(20, 8, 100)

    def written(self) -> str:
        """What was written since the last look, which the emulator shows now."""
        os.write(self.tty, _END)
        read = b""
        while not read.endswith(_END):
            assert select.select([self.keyboard], [], [], DEADLINE)[0]
            read += os.read(self.keyboard, 4096)
        text = read.removesuffix(_END).decode()
        self._vt.feed_str(text)
        return text

    def lines(self) -> list[str]:
        """The screen, without empty rows at its end."""
        self.written()
        return "\n".join(line.text.rstrip(" ") for line in self._vt.view()).rstrip("\n").split("\n")

    def cursor(self) -> tuple[int, int]:
        self.written()
        return self._vt.cursor.col, self._vt.cursor.row

    def resize(self, columns: int, rows: int) -> None:
        self.written()
        termios.tcsetwinsize(self.tty, (rows, columns))

    def close(self) -> None:
        os.close(self.keyboard)
        os.close(self.tty)


@pytest.fixture
def window() -> Iterator[Window]:
    opened = Window()
    yield opened
    opened.close()


def test_keys_pressed_before_it_began_are_lost(window: Window) -> None:
    """Afterwards each key is read at once and not echoed, and pastes are marked."""
    os.write(window.keyboard, b"early\n")
    assert select.select([window.tty], [], [], DEADLINE)[0]
    window.terminal.enter()
    assert window.written().endswith("\x1b[?2004h")

    os.write(window.keyboard, b"\x03")

    assert os.read(window.tty, 100) == b"\x03"
    assert window.written() == ""


def test_the_terminal_is_given_back_as_it_was(window: Window) -> None:
    """The box is gone, what was said stays, and a shell can go on below it."""
    before = termios.tcgetattr(window.tty)
    window.terminal.enter()
    window.terminal.frame("said", BOX, title="ada")
    assert window.lines() == ["said", *BOX.lines]
    assert termios.tcgetattr(window.tty) != before

    window.terminal.leave()

    assert window.written().endswith("\x1b[?2004l")
    assert window.lines() == ["said"]
    assert window.cursor() == (0, 1)
    assert termios.tcgetattr(window.tty) == before


def test_output_goes_above_the_box_and_the_cursor_stays_in_it(window: Window) -> None:
    """Frame after frame there is one box, below everything said so far."""
    window.terminal.frame("one\ntwo", BOX, title="ada")
    assert window.cursor() == (4, 3)
    window.terminal.frame("", BOX._replace(row=3, column=0), title="ada")
    assert window.cursor() == (0, 5)
    window.terminal.frame("three", BOX, title="ada")

    assert window.lines() == ["one", "two", "three", *BOX.lines]
    assert window.cursor() == (4, 4)


def test_a_smaller_box_leaves_nothing_of_the_bigger_one(window: Window) -> None:
    """When a dialog closes, no line of it stays behind."""
    window.terminal.frame("one", Bottom(list("abcd"), row=3, column=1), title="ada")
    window.terminal.frame("", Bottom(["e"], row=0, column=1), title="ada")

    assert window.lines() == ["one", "e"]


def test_in_a_narrower_window_the_whole_old_box_is_drawn_over(window: Window) -> None:
    """The terminal broke its lines: a rule of 20 takes two rows now, the cursor is in a third."""
    window.terminal.frame("one", BOX._replace(column=14), title="ada")
    window.resize(10, 8)
    window.terminal.frame("", BOX, title="ada")

    assert window.written().startswith("\r\x1b[3A\x1b[J─")


def test_a_title_is_said_when_it_changes_and_after_the_frame(window: Window) -> None:
    """Whoever waits for the title \"idle\" then sees the idle screen, never the old one."""
    window.terminal.frame("one", BOX, title="busy")
    assert window.written().endswith("\x1b]2;busy\x07")
    window.terminal.frame("two", BOX, title="busy")
    assert "\x1b]" not in window.written()
    window.terminal.set_title("i\x07d\x1ble")
    assert window.written() == "\x1b]2;idle\x07"


def test_a_cleared_screen_begins_at_its_top(window: Window) -> None:
    """After /clear only the box is there."""
    window.terminal.frame("one\ntwo", BOX, title="ada")
    window.terminal.clear()
    assert window.lines() == [""]
    window.terminal.frame("", BOX, title="ada")

    assert window.lines() == BOX.lines
    assert window.cursor() == (4, 1)


def test_a_window_too_small_to_draw_in_is_taken_for_a_bigger_one(window: Window) -> None:
    """A window dragged to nothing does not bring the agent down."""
    assert window.terminal.size() == (20, 8)
    window.resize(2, 1)

    assert window.terminal.size() == (10, 4)
