"""The tmux program as a subprocess: starting the server, and the few calls that need a stdin."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from sm.adapters.tmux.errors import TmuxError
from sm.core.launch import TerminalUnreachableError

_UNREACHABLE = ("no server running", "error connecting", "lost server", "server exited")


@dataclass(frozen=True, slots=True, kw_only=True)
class TmuxProgram:
    """How to call tmux so that it speaks to one server and no other."""

    socket: str
    """The socket's name, as in ``tmux -L``."""
    conf: Path
    """Read only if the call starts the server."""

    def argv(self, *arguments: str) -> tuple[str, ...]:
        # -u: without a UTF-8 locale (a daemon has none) tmux answers "_" for every other letter.
        return ("tmux", "-u", "-L", self.socket, "-f", str(self.conf), *arguments)

    async def call(self, *arguments: str, stdin: bytes = b"", deadline: float) -> str:
        """Run one command to its end; what it printed."""
        process = await self._spawn(arguments)
        try:
            async with asyncio.timeout(deadline):
                output, errors = await process.communicate(stdin)
        except TimeoutError:
            raise TerminalUnreachableError(f"tmux did not answer within {deadline:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
        if process.returncode != 0:
            raise _refusal(errors.decode(errors="replace").strip())
        return output.decode(errors="replace")

    async def _spawn(self, arguments: tuple[str, ...]) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self.argv(*arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=clean_environment(),
                cwd="/",
            )
        except FileNotFoundError:
            raise TerminalUnreachableError(
                "tmux is not installed. Install it with your package manager."
            ) from None


def clean_environment() -> dict[str, str]:
    """Ours without what a new server would hand on to every pane or take for itself."""
    return {name: value for name, value in os.environ.items() if not _is_private(name)}


def _is_private(name: str) -> bool:
    return name.startswith("SM_") or name in {"TMUX", "TMUX_PANE"}


def _refusal(message: str) -> Exception:
    if message.startswith(_UNREACHABLE):
        return TerminalUnreachableError(message)
    return TmuxError(message)
