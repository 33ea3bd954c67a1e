"""The tmux program as a subprocess: for what is done before there is a connection."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sm.adapters.tmux.errors import TmuxError
from sm.core.launch import ServerGoneError, TerminalUnreachableError

_ABSENT = ("no server running", "error connecting")
_UNREACHABLE = ("error connecting", "lost server", "server exited")


@dataclass(frozen=True, slots=True, kw_only=True)
class TmuxProgram:
    """How to call tmux so that it speaks to one server and no other."""

    socket: str
    """The socket's name, as in ``tmux -L``; or its path, as in ``tmux -S``."""
    conf: Path
    """Read only if the call starts the server."""

    def argv(self, *arguments: str) -> tuple[str, ...]:
        # -u: without a UTF-8 locale (a daemon has none) tmux answers "_" for every other letter.
        where = "-S" if "/" in self.socket else "-L"
        return ("tmux", "-u", where, self.socket, "-f", str(self.conf), *arguments)

    @property
    def path(self) -> Path:
        """Where the socket is."""
        if "/" in self.socket:
            return Path(self.socket)
        folder = os.environ.get("TMUX_TMPDIR") or "/tmp"  # noqa: S108 - as tmux itself
        return Path(folder, f"tmux-{os.getuid()}", self.socket)

    async def call(self, *arguments: str, deadline: float, before: Sequence[str] = ()) -> str:
        """Run one command to its end; what it printed. ``before``: the program that runs it."""
        printed = await self.fetch(*arguments, deadline=deadline, before=before)
        return printed.decode(errors="replace").removesuffix("\n")

    async def is_served(self, *, deadline: float) -> bool:
        """Whether there is a server, well or not; none is started to find out."""
        try:
            await self.call("-N", "start-server", deadline=deadline)
        except TerminalUnreachableError as error:
            return not str(error).startswith(_ABSENT)
        except TmuxError:
            return True
        return True

    async def fetch(self, *arguments: str, deadline: float, before: Sequence[str] = ()) -> bytes:
        """What a command printed, byte by byte: for answers of megabytes."""
        # A file, not a pipe: a client hands its ends of pipes to the server, and a server that
        # is stopped never closes them.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            argv = (*before, *self.argv(*arguments))
            status = await self._finish(argv, output, errors, deadline)
            if status != 0:
                raise _refusal(_content(errors).decode(errors="replace").strip())
            return _content(output)

    async def _finish(
        self, argv: tuple[str, ...], output: IO[bytes], errors: IO[bytes], deadline: float
    ) -> int:
        process = await self._start(argv, output, errors)
        try:
            async with asyncio.timeout(deadline):
                return await process.wait()
        except TimeoutError:
            raise TerminalUnreachableError(f"tmux did not answer within {deadline:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def _start(
        self, argv: tuple[str, ...], output: IO[bytes], errors: IO[bytes]
    ) -> asyncio.subprocess.Process:
        nothing = asyncio.subprocess.DEVNULL
        try:
            return await asyncio.create_subprocess_exec(
                *argv,
                stdin=nothing, stdout=output, stderr=errors, env=clean_environment(), cwd="/",
            )  # fmt: skip
        except FileNotFoundError:
            raise TerminalUnreachableError(
                "tmux is not installed. Install it with your package manager."
            ) from None


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def clean_environment() -> dict[str, str]:
    """Ours without what a new server would hand on to every pane or take for itself."""
    return {name: value for name, value in os.environ.items() if not _is_private(name)}


def _is_private(name: str) -> bool:
    return name.startswith("SM_") or name in {"TMUX", "TMUX_PANE"}


def _refusal(message: str) -> Exception:
    # Refused by the kernel. A socket that is not there says less: somebody may have removed it.
    if message.startswith("no server running"):
        return ServerGoneError(message)
    if message.startswith(_UNREACHABLE):
        return TerminalUnreachableError(message)
    return TmuxError(message)
