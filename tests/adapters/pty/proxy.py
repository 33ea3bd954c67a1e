"""The smallest composition of a terminal and an agent: ``proxy.py FOLDER [OPTION...] -- AGENT...``.

Options: ``--fail`` raises once the agent runs; ``--restart`` kills it when ``FOLDER/restart`` is
there, and starts it again; ``--beat`` counts in ``FOLDER/beats`` as long as the loop has time.
"""

import asyncio
import os
import sys
from pathlib import Path

from sm.adapters.archive.render import render
from sm.adapters.pty.terminal import PtyTerminal
from sm.adapters.system import ProcessTable
from sm.core.ids import SessionId
from sm.core.launch import PaneLaunch

ADA = SessionId("ada00001")


async def main(folder: Path, options: list[str], agent: list[str]) -> int:
    terminal = PtyTerminal(started=ProcessTable().started, render=render, patience=1.0)
    launch = PaneLaunch(
        session=ADA,
        tmux_session="ada",
        cwd=str(folder),
        argv=tuple(agent),
        raw_log=str(folder / "raw.log"),
        sizes_log=str(folder / "sizes.jsonl"),
    )
    async with terminal.foreground(0, 1), asyncio.TaskGroup() as tasks:
        beating = tasks.create_task(_beat(folder)) if "--beat" in options else None
        pane = await terminal.launch(launch)
        (folder / "pid").write_text(f"{pane.pid} {os.getpid()}")
        if "--fail" in options:
            await _there(folder / "fail")
            raise RuntimeError("planted")
        if "--restart" in options:
            await _there(folder / "restart")
            await terminal.kill(ADA)
            terminal.say("It starts again.")
            await terminal.launch(launch)
        code = (await terminal.exited()).code
        if beating is not None:
            beating.cancel()
    return code


async def _there(path: Path) -> None:
    while not path.exists():
        await asyncio.sleep(0.01)


async def _beat(folder: Path) -> None:
    beats = 0
    while True:
        beats += 1
        (folder / "beats").write_text(str(beats))
        await asyncio.sleep(0.01)


if __name__ == "__main__":
    cut = sys.argv.index("--")
    sys.exit(asyncio.run(main(Path(sys.argv[1]), sys.argv[2:cut], sys.argv[cut + 1 :])))
