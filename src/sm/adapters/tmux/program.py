"""The tmux program as a subprocess: starting the server, and the few calls that need a stdin."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from sm.adapters.tmux.errors import TmuxError
from sm.core.launch import TerminalUnreachableError

P = TypeVar("P", bound=asyncio.SubprocessProtocol)

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
        try:
            async with asyncio.timeout(deadline):
                output, errors, status = await self._finish(self.argv(*arguments), stdin)
        except TimeoutError:
            raise TerminalUnreachableError(f"tmux did not answer within {deadline:g} s") from None
        if status != 0:
            raise _refusal(errors.decode(errors="replace").strip())
        return output.decode(errors="replace")

    async def _finish(self, argv: tuple[str, ...], stdin: bytes) -> tuple[bytes, bytes, int | None]:
        transport, call = await start_client(argv, _Call)
        try:
            pipe = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
            pipe.write(stdin)
            pipe.write_eof()
            await call.ended
        finally:
            # Ends the process too, and does not wait for its pipes: a client hands them to the
            # server, and one that is stopped never closes them.
            transport.close()
        return bytes(call.output[1]), bytes(call.output[2]), transport.get_returncode()


class _Call(asyncio.SubprocessProtocol):
    """One command's output, until it has ended."""

    def __init__(self) -> None:
        self.output = {1: bytearray(), 2: bytearray()}
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output[fd] += data

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 asyncio's
        if not self.ended.done():
            self.ended.set_result(None)


async def start_client(
    argv: Sequence[str], protocol: Callable[[], P]
) -> tuple[asyncio.SubprocessTransport, P]:
    """Start a tmux client with pipes."""
    try:
        return await asyncio.get_running_loop().subprocess_exec(
            protocol, *argv, env=clean_environment(), cwd="/"
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
