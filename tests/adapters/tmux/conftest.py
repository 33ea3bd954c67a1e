"""Every test has a tmux server of its own, which ends with the test."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import pytest

from sm.adapters.tmux.server import TmuxTerminal

from .rig import Rig


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def socket() -> Iterator[str]:
    name = f"sm-tmux-test-{token_hex(4)}"
    yield name
    tmux = ["tmux", "-L", name]
    subprocess.run([*tmux, "kill-server"], capture_output=True, check=False, timeout=10)
    left = subprocess.run([*tmux, "list-sessions"], capture_output=True, check=False, timeout=10)
    folder = Path(os.environ.get("TMUX_TMPDIR", "/tmp")) / f"tmux-{os.getuid()}"
    (folder / name).unlink(missing_ok=True)
    assert left.returncode != 0, "a tmux server was left behind"


@pytest.fixture
async def rig(socket: str, tmp_path: Path) -> AsyncIterator[Rig]:
    rig = Rig(socket=socket, folder=tmp_path)
    yield rig
    for terminal in rig.terminals:
        # A test that failed half-way may have left its server stopped.
        if terminal.server is not None:
            with suppress(ProcessLookupError):
                os.kill(terminal.server.pid, signal.SIGCONT)
        await terminal.close()


@pytest.fixture
async def terminal(rig: Rig) -> TmuxTerminal:
    """On a server such as a person starts, without any configuration of ours."""
    return await rig.terminal()
