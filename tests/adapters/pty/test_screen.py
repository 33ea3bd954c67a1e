"""A log that grows, looked at now and then."""

import asyncio
from pathlib import Path

import pytest

from sm.adapters.pty.screen import PIECE, Screen

pytestmark = pytest.mark.anyio


class Log:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "raw.log"
        self.path.touch()

    def add(self, output: str) -> int:
        """The log's size now."""
        with self.path.open("ab") as file:
            file.write(output.encode())
        return self.path.stat().st_size


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


async def test_each_look_shows_what_came_since(log: Log) -> None:
    screen = Screen(log.path, 0, 20, 3)
    await screen.catch_up(log.add("one\r\n"))
    assert (screen.lines, screen.cursor) == (("one", "", ""), (0, 1))

    await screen.catch_up(log.add("two\r\nthree\r\nfour"))
    assert (screen.lines, screen.cursor) == (("two", "three", "four"), (4, 2))


async def test_what_stood_there_before_its_launch_is_not_shown(log: Log) -> None:
    began = log.add("\x1b[?1049hof another life")
    screen = Screen(log.path, began, 20, 2)
    await screen.catch_up(log.add("new"))

    assert screen.lines == ("new", "")


async def test_a_change_of_size_happens_where_it_happened(log: Log) -> None:
    """In ten columns the fifteenth is the tenth; after the change it is the fifteenth."""
    screen = Screen(log.path, 0, 10, 4)
    screen.resize(log.add("\x1b[1;15Ha"), 20, 4)
    await screen.catch_up(log.add("\x1b[2;15Hb"))

    assert screen.lines[:2] == (" " * 9 + "a", " " * 14 + "b")
    assert screen.size == (20, 4)


async def test_a_new_size_is_known_before_anything_is_drawn_in_it(log: Log) -> None:
    screen = Screen(log.path, 0, 10, 4)
    screen.resize(log.add("x"), 30, 9)
    await screen.catch_up(1)

    assert screen.size == (30, 9)


async def test_a_character_may_be_cut_by_a_look(log: Log) -> None:
    screen = Screen(log.path, 0, 10, 1)
    end = log.add("日")
    for seen in range(1, end + 1):
        await screen.catch_up(seen)

    assert (screen.lines, screen.cursor) == (("日",), (2, 0))


@pytest.mark.parametrize("end", ["\x07", "\x1b\\"])
async def test_the_title_is_the_last_one_set(log: Log, end: str) -> None:
    """Also when a look cuts it in two."""
    screen = Screen(log.path, 0, 20, 2)
    size = log.add(f"\x1b]0;first{end}\x1b]2;✻ second{end}text\x1b]8;;http://x{end}")
    for seen in range(size + 1):
        await screen.catch_up(seen)

    assert screen.title == "✻ second"


async def test_a_long_log_leaves_time_for_others(log: Log) -> None:
    screen = Screen(log.path, 0, 80, 24)
    looking = asyncio.create_task(screen.catch_up(log.add("x" * (PIECE * 20))))
    turns = 0
    while not looking.done():
        turns += 1
        await asyncio.sleep(0)

    assert turns >= 20


async def test_two_looks_at_once_show_everything_once(log: Log) -> None:
    screen = Screen(log.path, 0, 20, 3)
    end = log.add("a\r\nb")
    await asyncio.gather(screen.catch_up(end), screen.catch_up(end))

    assert screen.lines == ("a", "b", "")
