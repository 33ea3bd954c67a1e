"""One agent in one pseudoterminal, listened to by a test."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from sm.adapters.pty.child import Child, Exit
from sm.core.ids import SessionId
from sm.core.launch import PaneLaunch

pytestmark = pytest.mark.anyio


class Heard:
    """Everything a child tells."""

    def __init__(self) -> None:
        self.output = b""
        self.told: list[str | Exit] = []

    def shown(self, output: bytes) -> None:
        self.output += output

    def has_room(self) -> None:
        self.told.append("room")

    def stopped(self) -> None:
        self.told.append("stopped")

    def ended(self, exit_: Exit) -> None:
        self.told.append(exit_)

    async def until(self, predicate: Callable[["Heard"], object]) -> None:
        async with asyncio.timeout(10):
            while not predicate(self):
                await asyncio.sleep(0.005)


@pytest.fixture
def heard() -> Heard:
    return Heard()


async def started(heard: Heard, folder: Path, *argv: str) -> Child:
    launch = PaneLaunch(
        session=SessionId("ada00001"), tmux_session="ada", cwd=str(folder), argv=argv,
        raw_log="", sizes_log="",
    )  # fmt: skip
    child = Child.start(launch, heard, (80, 24), None)
    await child.begin()
    return child


def test_an_exit_is_told_as_shells_tell_it() -> None:
    assert [Exit(pid=1, status=3).code, Exit(pid=1, signal=15).code] == [3, 143]


async def test_all_it_wrote_is_there_when_it_has_ended(heard: Heard, tmp_path: Path) -> None:
    """To the last byte, however fast it left."""
    child = await started(heard, tmp_path, "seq", "20000")
    await heard.until(lambda heard: heard.told)

    assert heard.output.endswith(b"20000\r\n")
    assert heard.told == [Exit(pid=child.pid, status=0)]


async def test_what_a_paused_child_wrote_before_its_end_is_not_lost(
    heard: Heard, tmp_path: Path
) -> None:
    child = await started(heard, tmp_path, "bash", "-c", "read x; echo last words")
    child.pause()
    child.write(b"\n")
    await heard.until(lambda heard: heard.told)

    assert heard.output == b"last words\r\n"


async def test_input_it_does_not_read_fills_up_and_empties(heard: Heard, tmp_path: Path) -> None:
    program = "stty raw; echo ready; read -n 1 x; wc -c"
    child = await started(heard, tmp_path, "bash", "-c", program)
    await heard.until(lambda heard: b"ready" in heard.output)
    while not child.is_full:
        child.write(b"x" * 4096)
    await heard.until(lambda heard: "room" in heard.told)

    await child.end(signal.SIGKILL, 1.0)


async def test_an_end_of_input_ends_a_begun_line_first(heard: Heard, tmp_path: Path) -> None:
    child = await started(heard, tmp_path, "cat")
    child.write(b"begun")
    child.write_eof()
    await heard.until(lambda heard: heard.told)

    assert heard.output == b"begun"
    assert heard.told == [Exit(pid=child.pid, status=0)]


async def test_a_paused_child_is_read_no_further(heard: Heard, tmp_path: Path) -> None:
    child = await started(heard, tmp_path, "bash", "-c", "read x; echo shown; read x")
    child.pause()
    child.write(b"\n")
    await asyncio.sleep(0.1)
    assert heard.output == b""

    child.go_on()
    await heard.until(lambda heard: heard.output == b"shown\r\n")
    await child.end(signal.SIGKILL, 1.0)


async def test_it_stops_and_goes_on(heard: Heard, tmp_path: Path) -> None:
    """What it wrote before comes before."""
    child = await started(heard, tmp_path, "bash", "-c", "echo ready; kill -STOP $$; echo on")
    child.pause()
    await heard.until(lambda heard: "stopped" in heard.told)
    assert heard.output == b"ready\r\n"
    child.go_on()
    child.send(signal.SIGCONT)
    await heard.until(lambda heard: len(heard.told) == 2)

    assert heard.output == b"ready\r\non\r\n"


async def test_what_is_asked_of_an_ended_child_is_nothing(heard: Heard, tmp_path: Path) -> None:
    child = await started(heard, tmp_path, "true")
    await heard.until(lambda heard: heard.told)
    child.write(b"x")
    child.write_eof()
    child.resize((10, 10))
    child.send(signal.SIGTERM)
    child.go_on()
    await child.end(signal.SIGTERM, 1.0)

    assert heard.told == [Exit(pid=child.pid, status=0)]
