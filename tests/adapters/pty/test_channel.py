"""Real pipes, files and terminals, with somebody slow at the other end."""

import asyncio
import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.adapters.pty.channel import BATCH, Borrowed, Inlet, Outlet

pytestmark = pytest.mark.anyio


class Taken:
    """What came out."""

    def __init__(self) -> None:
        self.text = b""
        self.events: list[str] = []

    def take(self, text: bytes) -> None:
        self.text += text

    def note(self, event: str) -> None:
        self.events.append(event)

    async def until(self, event: str) -> None:
        async with asyncio.timeout(5):
            while event not in self.events:
                await asyncio.sleep(0.001)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def inlet(fd: int, taken: Taken, batch: int = BATCH) -> Inlet:
    return Inlet(fd, take=taken.take, ended=lambda: taken.note("ended"), batch=batch)


def outlet(fd: int, taken: Taken) -> Outlet:
    return Outlet(fd, emptied=lambda: taken.note("emptied"), lost=lambda: taken.note("lost"))


async def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    """No selector takes a file; it is always ready."""
    (tmp_path / "file").write_bytes(b"x" * 200_000)
    taken = Taken()
    with (tmp_path / "file").open("rb") as file:
        inlet(file.fileno(), taken, batch=1).open()
        await taken.until("ended")

    assert (len(taken.text), taken.events) == (200_000, ["ended"])


async def test_a_paused_inlet_takes_nothing(pipe: tuple[int, int]) -> None:
    taken = Taken()
    reading = inlet(pipe[0], taken, batch=1)
    reading.open()
    reading.pause()
    os.write(pipe[1], b"later")
    await asyncio.sleep(0.02)
    assert taken.text == b""

    reading.open()
    os.close(pipe[1])
    await taken.until("ended")
    assert taken.text == b"later"


async def test_draining_takes_all_that_is_there(pipe: tuple[int, int]) -> None:
    taken = Taken()
    os.set_blocking(pipe[0], False)
    os.write(pipe[1], b"x" * 60_000)
    reading = inlet(pipe[0], taken, batch=1000)
    reading.drain()

    assert len(taken.text) == 60_000


async def test_what_does_not_fit_is_held_until_it_does(pipe: tuple[int, int]) -> None:
    taken = Taken()
    os.set_blocking(pipe[1], False)
    writing = outlet(pipe[1], taken)
    text = os.urandom(300_000)
    writing.write(text[:250_000])
    writing.write(text[250_000:])
    assert writing.is_full

    received = Taken()
    os.set_blocking(pipe[0], False)
    inlet(pipe[0], received).open()
    await taken.until("emptied")
    os.close(pipe[1])
    await received.until("ended")
    assert received.text == text
    assert not writing.is_full


async def test_a_reader_that_is_gone_is_told_once(pipe: tuple[int, int]) -> None:
    taken = Taken()
    os.close(pipe[0])
    writing = outlet(pipe[1], taken)
    writing.write(b"x")
    writing.write(b"y")
    await taken.until("lost")

    assert taken.events == ["lost"]


async def test_a_borrowed_terminal_or_pipe_stays_blocking_for_its_owner(
    pipe: tuple[int, int],
) -> None:
    master, slave = pty.openpty()
    for fd, flags in ((slave, os.O_RDWR), (pipe[1], os.O_WRONLY)):
        borrowed = Borrowed(fd, flags)
        assert os.get_blocking(fd)
        assert not os.get_blocking(borrowed.fd)
        borrowed.close()
    os.close(master)
    os.close(slave)


async def test_a_borrowed_file_is_written_where_its_owner_was(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb", buffering=0) as file:
        file.write(b"before ")
        borrowed = Borrowed(file.fileno(), os.O_WRONLY)
        os.write(borrowed.fd, b"ours ")
        borrowed.close()
        file.write(b"after")

    assert (tmp_path / "file").read_bytes() == b"before ours after"
