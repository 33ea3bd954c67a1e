"""The engine's terminal on a pseudoterminal: launched, looked at, killed, started again."""

import asyncio
import os
import signal
import stat
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sm.adapters.archive.render import render
from sm.adapters.pty.terminal import LINE, PANE, NeverTypedError, PtyTerminal
from sm.adapters.system import ExitWatch, ProcessTable
from sm.core.ids import PaneId, SessionId
from sm.core.launch import LaunchFailedError, PaneLaunch, TerminalUnreachableError
from sm.core.terminal import View
from sm.engine.ports import Terminal
from tests.adapters.pty.rig import lives
from tests.kit.tmux import wait_until_async

pytestmark = pytest.mark.anyio
ADA, BOB = SessionId("ada00001"), SessionId("b0b00002")


@dataclass
class Rig:
    terminal: PtyTerminal
    folder: Path

    def line(self, *argv: str) -> PaneLaunch:
        return PaneLaunch(
            session=ADA,
            tmux_session="ada",
            cwd=str(self.folder),
            argv=argv,
            raw_log=str(self.folder / "raw.log"),
            sizes_log=str(self.folder / "sizes.jsonl"),
        )

    async def look(self) -> View:
        view = await self.terminal.look(PANE)
        assert view is not None
        return view

    async def until(self, shows: Callable[[View], object]) -> View:
        async with asyncio.timeout(10):
            while not shows(view := await self.look()):
                await asyncio.sleep(0.01)
        return view


@pytest.fixture
async def rig(tmp_path: Path, null: int) -> AsyncIterator[Rig]:
    terminal = PtyTerminal(
        started=ProcessTable().started,
        render=render,
        environment={"COLUMNS": "60", "LINES": "5"},
        patience=0.5,
    )
    async with terminal.foreground(null, null):
        yield Rig(terminal, tmp_path)


def test_it_fits_the_engine(tmp_path: Path) -> None:
    """Checked by the types."""
    terminal: Terminal = PtyTerminal(started=ProcessTable().started, render=render)

    assert isinstance(terminal, PtyTerminal)


async def test_an_agent_is_found_where_it_was_launched(rig: Rig) -> None:
    assert await rig.terminal.find(ADA) is None
    assert await rig.terminal.panes() == []
    pane = await rig.terminal.launch(rig.line("sleep", "100"))

    assert (pane.id, pane.session, pane.socket) == (PANE, "ada", "")
    assert pane.started == ProcessTable().started(pane.pid)
    assert await rig.terminal.find(ADA) == pane
    assert await rig.terminal.find(BOB) is None
    assert await rig.terminal.launch(rig.line("sleep", "100")) == pane
    (status,) = await rig.terminal.panes()
    assert (status.sm_session, status.pid, status.dead) == (ADA, pane.pid, False)


async def test_a_look_shows_screen_cursor_title_and_whose_it_is(rig: Rig) -> None:
    await rig.terminal.launch(rig.line("bash", "-c", r"printf '\e]2;work\a日本\n❯ '; sleep 100"))
    view = await rig.until(lambda view: view.cursor_y == 1 and view.cursor_x == 2)

    assert view.lines == ("日本", "❯", "", "", "")
    assert (view.width, view.height, view.title, view.session) == (60, 5, "work", ADA)
    assert not view.in_mode
    assert not view.dead


@pytest.mark.parametrize(
    ("command", "status", "number"),
    [("exit 0", 0, None), ("exit 3", 3, None), ("kill -9 $$", None, 9)],
)
async def test_how_it_ended_is_known_exactly(
    rig: Rig, command: str, status: int | None, number: int | None
) -> None:
    """Its last words are still to be seen, and another launch is a new one."""
    pane = await rig.terminal.launch(rig.line("bash", "-c", f"echo last words; {command}"))
    exit_ = await rig.terminal.exited()

    assert (exit_.pid, exit_.status, exit_.signal) == (pane.pid, status, number)
    assert exit_.code == (status if status is not None else 137)
    view = await rig.look()
    assert (view.dead, view.exit_status, view.exit_signal) == (True, status, number)
    assert view.lines[0] == "last words"
    (listed,) = await rig.terminal.panes()
    assert (listed.dead, listed.exit_status, listed.exit_signal) == (True, status, number)
    assert await rig.terminal.find(ADA) is None


async def test_the_watch_for_processes_sees_it_end(rig: Rig) -> None:
    """The agent is not our own child; the kernel tells of its end all the same."""
    pane = await rig.terminal.launch(rig.line("sleep", "100"))
    died = asyncio.Event()
    ExitWatch(ProcessTable()).watch(pane.pid, pane.started, died.set)
    os.kill(pane.pid, signal.SIGTERM)

    async with asyncio.timeout(5):
        await died.wait()
    assert (await rig.until(lambda view: view.dead)).exit_signal == signal.SIGTERM


async def test_a_killed_agent_can_be_started_again(rig: Rig) -> None:
    """The log goes on; screen and dump are the new one's alone."""
    first = await rig.terminal.launch(rig.line("bash", "-c", "echo one; sleep 100"))
    await rig.until(lambda view: view.lines[0] == "one")
    await rig.terminal.kill(ADA)
    assert not lives(first.pid)
    assert (await rig.terminal.exited()).signal == signal.SIGTERM
    second = await rig.terminal.launch(rig.line("bash", "-c", "echo two; sleep 100"))
    await rig.until(lambda view: view.lines[0] == "two")

    assert second.pid != first.pid
    assert not (await rig.look()).dead
    assert await rig.terminal.dump(PANE) == b"two\n"
    assert (rig.folder / "raw.log").read_bytes() == b"one\r\ntwo\r\n"
    assert stat.S_IMODE((rig.folder / "raw.log").stat().st_mode) == 0o600


async def test_an_agent_that_minds_no_signal_is_killed(rig: Rig) -> None:
    program = "trap '' TERM HUP; echo ready; while :; do sleep 0.05; done"
    pane = await rig.terminal.launch(rig.line("bash", "-c", program))
    await rig.until(lambda view: view.lines[0] == "ready")
    await rig.terminal.kill(ADA)

    assert (await rig.terminal.exited()).signal == signal.SIGKILL
    assert not lives(pane.pid)


async def test_killing_another_session_or_twice_does_nothing(rig: Rig) -> None:
    pane = await rig.terminal.launch(rig.line("sleep", "100"))
    await rig.terminal.kill(BOB)
    assert lives(pane.pid)

    await rig.terminal.kill(ADA)
    await rig.terminal.kill(ADA)
    assert not lives(pane.pid)


async def test_the_dump_has_all_that_scrolled_away(rig: Rig) -> None:
    await rig.terminal.launch(rig.line("seq", "100"))
    await rig.terminal.exited()

    assert await rig.terminal.dump(PANE) == b"".join(b"%d\n" % n for n in range(1, 101))
    assert await rig.terminal.dump(PaneId("%7")) is None
    assert await rig.terminal.look(PaneId("%7")) is None


async def test_a_dump_may_be_of_the_last_lines_and_of_one_session_alone(rig: Rig) -> None:
    """Of a long log only the end is worked out."""
    await rig.terminal.launch(rig.line("seq", "5000"))
    await rig.terminal.exited()
    expected = [b"".join(b"%d\n" % n for n in range(5001 - lines, 5001)) for lines in (1, 40)]

    assert [await rig.terminal.dump(PANE, lines=lines) for lines in (1, 40)] == expected
    assert await rig.terminal.dump(PANE, of=ADA, lines=1) == b"5000\n"
    assert await rig.terminal.dump(PANE, of=BOB) is None


async def test_the_dump_of_a_long_log_costs_no_more_than_its_lines(
    tmp_path: Path, null: int
) -> None:
    """A run of days leaves gigabytes; the lines that are wanted stand at its end."""
    asked: list[int] = []

    def rendering(raw: Path, sizes: Path, since: int) -> list[str]:
        asked.append(raw.stat().st_size - since)
        return render(raw, sizes, since)

    terminal = PtyTerminal(started=ProcessTable().started, render=rendering, patience=0.5)
    async with terminal.foreground(null, null):
        await terminal.launch(Rig(terminal, tmp_path).line("seq", "100000"))
        await terminal.exited()
        dump = await terminal.dump(PANE, lines=10)

    assert dump == b"".join(b"%d\n" % n for n in range(99_991, 100_001))
    assert asked == [10 * LINE]


async def test_nothing_is_typed_for_a_person(rig: Rig) -> None:
    """To the engine such a terminal cannot be reached by typing."""
    await rig.terminal.launch(rig.line("cat"))

    assert await rig.terminal.tell("a line of ours") == 0
    with pytest.raises(NeverTypedError, match="nothing is typed"):
        await rig.terminal.paste(PANE, "m.1", "text")
    with pytest.raises(TerminalUnreachableError, match="no key"):
        await rig.terminal.press(PANE, "Enter", option="@x", mark="m.1")
    assert await rig.terminal.rename(PANE, "eve") == "eve"
    assert await rig.terminal.examine("%1", None) is None
    assert not await rig.terminal.take(PANE, ADA, "raw", "sizes")
    await rig.terminal.leave_mode(PANE)
    await rig.terminal.release(PANE, ADA)
    assert await rig.terminal.find(ADA) is not None


async def test_what_cannot_be_started_is_told(rig: Rig) -> None:
    with pytest.raises(LaunchFailedError, match="/nowhere/agent is not there"):
        await rig.terminal.launch(rig.line("/nowhere/agent"))
    with pytest.raises(LaunchFailedError, match="is not a folder"):
        await rig.terminal.launch(replace(rig.line("true"), cwd="/nowhere"))

    assert await rig.terminal.panes() == []
    await rig.terminal.launch(rig.line("true"))
    assert (await rig.terminal.exited()).code == 0


async def test_a_signal_between_two_agents_ends_the_wait(rig: Rig) -> None:
    """Nobody is there to be told; nothing is started after it."""
    os.kill(os.getpid(), signal.SIGTERM)

    assert (await rig.terminal.exited()).code == 128 + signal.SIGTERM
    with pytest.raises(LaunchFailedError, match="closing"):
        await rig.terminal.launch(rig.line("true"))


async def test_the_end_of_the_foreground_ends_the_agent(tmp_path: Path, null: int) -> None:
    """And what we did with signals is undone."""
    own = signal.signal(signal.SIGTERM, lambda *_: None)
    before = [signal.getsignal(number) for number in signal.valid_signals()]
    terminal = PtyTerminal(started=ProcessTable().started, render=render, patience=0.5)
    async with terminal.foreground(null, null):
        pane = await terminal.launch(Rig(terminal, tmp_path).line("sleep", "100"))

    assert not lives(pane.pid)
    assert [signal.getsignal(number) for number in signal.valid_signals()] == before
    signal.signal(signal.SIGTERM, own)
    assert (await terminal.exited()).signal == signal.SIGTERM


async def test_many_launches_leave_no_file_open(rig: Rig) -> None:
    await rig.terminal.launch(rig.line("true"))
    await rig.terminal.exited()
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        await rig.terminal.launch(rig.line("true"))
        await rig.terminal.exited()

    await wait_until_async(lambda: len(list(Path("/dev/fd").iterdir())) == before)


async def test_we_are_our_own_server() -> None:
    """The same as ever for whoever can still ask."""
    terminal = PtyTerminal(started=ProcessTable().started, render=render, now=lambda: 7.5)

    server = await terminal.server_of(PANE)

    assert (server.pid, server.started) == (os.getpid(), 7)
