"""A real terminal taken and given back, and what stands in for one."""

import os
import termios
from collections.abc import Iterator

import pytest

from sm.adapters.pty.console import DEFAULT_SIZE, Console

pytestmark = pytest.mark.anyio


class Nobody:
    def typed(self, text: bytes) -> None: ...

    def typing_ended(self) -> None: ...

    def emptied(self) -> None: ...

    def hung_up(self) -> None: ...


@pytest.fixture
def tty() -> Iterator[int]:
    master, slave = os.openpty()
    yield slave
    os.close(master)
    os.close(slave)


async def test_every_key_is_a_byte_until_it_is_given_back(tty: int) -> None:
    before = termios.tcgetattr(tty)
    console = Console(tty, tty, Nobody(), {})
    console.take()
    _, oflag, _, lflag, *_ = termios.tcgetattr(tty)
    assert not oflag & termios.OPOST
    assert not lflag & (termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)

    console.close()
    assert termios.tcgetattr(tty) == before


async def test_while_we_have_the_keys_that_interrupt_they_are_signals(tty: int) -> None:
    """All others are bytes, for whoever reads next."""
    console = Console(tty, tty, Nobody(), {})
    console.take()
    console.take(has_signals=True)
    lflag = termios.tcgetattr(tty)[3]
    assert lflag & termios.ISIG
    assert not lflag & (termios.ECHO | termios.ICANON)

    console.take()
    assert not termios.tcgetattr(tty)[3] & termios.ISIG
    console.close()


async def test_a_keyboard_nobody_reads_keeps_its_signals(tty: int, null: int) -> None:
    """Else nobody could interrupt what reads its input from elsewhere."""
    before = termios.tcgetattr(tty)
    console = Console(null, tty, Nobody(), {})
    console.take()
    _, oflag, _, lflag, *_ = termios.tcgetattr(tty)
    assert not oflag & termios.OPOST
    assert lflag == before[3]

    console.close()
    assert termios.tcgetattr(tty) == before


async def test_the_size_is_the_terminals_or_the_environments(tty: int, null: int) -> None:
    """A terminal that knows no size is like none."""
    shown = Console(null, tty, Nobody(), {"COLUMNS": "90"})
    assert shown.size == (90, DEFAULT_SIZE[1])
    termios.tcsetwinsize(tty, (33, 44))
    assert shown.size == (44, 33)
    shown.close()

    unseen = Console(tty, null, Nobody(), {"COLUMNS": "0", "LINES": "many"})
    assert unseen.size == DEFAULT_SIZE
    unseen.close()
