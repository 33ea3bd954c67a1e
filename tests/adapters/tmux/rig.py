"""A private tmux server for one test, and ways to wait for what happens in it."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sm.adapters.system import ProcessTable
from sm.adapters.tmux.server import TmuxTerminal
from sm.core.ids import SessionId
from sm.core.launch import PaneLaunch
from sm.core.terminal import Pane

T = TypeVar("T")

NO_CONF = Path("/dev/null")
RAW_PROGRAM = Path(__file__).with_name("raw_program.py")
BRACKETED = r"\x1b[?2004hREADY"
ADA = SessionId("ada00001")
BOB = SessionId("b0b00002")


@dataclass
class Rig:
    """What a test holds: the server's socket, a folder, and terminals that get closed."""

    socket: str
    folder: Path
    terminals: list[TmuxTerminal] = field(default_factory=list)

    def tmux(self, *arguments: str) -> str:
        """As a person would, from outside."""
        return subprocess.run(
            ["tmux", "-u", "-L", self.socket, "-f", "/dev/null", *arguments],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        ).stdout.rstrip("\n")

    async def terminal(
        self, home: str = "home1", *, conf: Path = NO_CONF, deadline: float = 5.0
    ) -> TmuxTerminal:
        terminal = TmuxTerminal(
            socket=self.socket,
            home=home,
            conf=conf,
            started=ProcessTable().started,
            deadline=deadline,
        )
        self.terminals.append(terminal)
        await terminal.start()
        return terminal

    def launch(
        self, *argv: str, session: SessionId = ADA, name: str = "ada", cwd: str | None = None
    ) -> PaneLaunch:
        return PaneLaunch(
            session=session,
            tmux_session=name,
            cwd=cwd or str(self.folder),
            argv=argv or ("sleep", "1000"),
            raw_log=str(self.raw_log(session)),
            sizes_log=str(self.folder / f"{session}.sizes"),
        )

    def raw_log(self, session: SessionId = ADA) -> Path:
        return self.folder / f"{session}.raw"

    @property
    def received(self) -> Path:
        """What the raw program got."""
        return self.folder / "received"

    def raw_program(self, greeting: str = BRACKETED) -> PaneLaunch:
        python = (sys.executable, "-I", "-S", str(RAW_PROGRAM))
        return self.launch(*python, str(self.received), greeting)

    async def start_raw_program(self, terminal: TmuxTerminal, greeting: str = BRACKETED) -> Pane:
        pane = await terminal.launch(self.raw_program(greeting))
        await until(lambda: shows(terminal, pane, "READY"))
        return pane


async def shows(terminal: TmuxTerminal, pane: Pane, text: str) -> bool:
    view = await terminal.look(pane.id)
    return view is not None and any(text in line for line in view.lines)


async def until(probe: Callable[[], Awaitable[T]], *, deadline: float = 10.0) -> T:
    """Ask again until the answer is true."""
    async with asyncio.timeout(deadline):
        while True:
            answer = await probe()
            if answer:
                return answer
            await asyncio.sleep(0.01)


async def until_true(probe: Callable[[], bool], *, deadline: float = 10.0) -> None:
    async def ask() -> bool:
        return probe()

    await until(ask, deadline=deadline)
