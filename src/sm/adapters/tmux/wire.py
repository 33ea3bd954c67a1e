"""One control-mode connection, from attaching to its loss. It is never repaired, only replaced."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from secrets import token_hex
from typing import cast

from sm.adapters.tmux.blocks import Block, BlockReader, Notice
from sm.adapters.tmux.program import TmuxProgram, clean_environment
from sm.adapters.tmux.quote import Command, render
from sm.core.launch import TerminalUnreachableError


@dataclass(slots=True)
class _Request:
    """A line that was sent and is not answered yet."""

    last_words: tuple[str, ...]
    answer: "asyncio.Future[list[Block]]"
    blocks: list[Block] = field(default_factory=list)


class Wire(asyncio.SubprocessProtocol):
    """A ``tmux -C`` client. Answers come in the order of the requests."""

    def __init__(self, *, lost: Callable[[], None], notice: Callable[[str], None]) -> None:
        self._lost = lost
        self._notice = notice
        self._reader = BlockReader()
        self._requests: deque[_Request] = deque()
        self._transport: asyncio.SubprocessTransport | None = None
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open = True
        self._salt = token_hex(4)
        self._numbers = count()

    def request(self, *commands: Command) -> "asyncio.Future[list[Block]]":
        """Send one command list; its answers, one block per command that ran."""
        answer: asyncio.Future[list[Block]] = asyncio.get_running_loop().create_future()
        if not self.is_open():
            answer.set_exception(TerminalUnreachableError("the connection to tmux is lost"))
            return answer
        # A list that fails has fewer blocks than commands and a condition may add some: a second
        # line that only repeats a word tells where the answer ends.
        last_words = f"{self._salt}.{next(self._numbers)}"
        self._requests.append(_Request((last_words,), answer))
        lines = f"{render(*commands)}\n{render(('display-message', '-p', last_words))}\n"
        self._stdin().write(lines.encode())
        return answer

    def is_open(self) -> bool:
        """Whether a request can be sent; a connection found broken is lost from now on."""
        # uvloop closes the pipe a moment before it says so, and raises at a write in between.
        if self._open and self._stdin().is_closing():
            self.close()
        return self._open

    def _stdin(self) -> asyncio.WriteTransport:
        assert self._transport is not None, "made before anybody has the wire"
        return cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    @property
    def pid(self) -> int | None:
        """Of the client."""
        return None if self._transport is None else self._transport.get_pid()

    def close(self) -> None:
        """Give the connection up. Whoever waits is told; what was sent may still be done."""
        self._lose()
        if self._transport is not None:
            self._transport.close()

    async def wait_closed(self) -> None:
        if self._transport is not None:
            await asyncio.shield(self._gone)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1 and self._open:
            for found in self._reader.feed(data):
                self._take(found)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 asyncio's
        self.close()

    def process_exited(self) -> None:
        # A stopped server keeps the pipe open after its client died.
        self.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 asyncio's
        if not self._gone.done():
            self._gone.set_result(None)

    def _take(self, found: Block | Notice) -> None:
        if isinstance(found, Notice):
            self._notice(found.line)
            return
        request = self._requests[0]
        if found.lines != request.last_words:
            request.blocks.append(found)
            return
        self._requests.popleft()
        if not request.answer.done():
            request.answer.set_result(request.blocks)

    def _lose(self) -> None:
        if not self._open:
            return
        self._open = False
        for request in self._requests:
            if not request.answer.done():
                request.answer.set_exception(
                    TerminalUnreachableError(
                        "the connection to tmux was lost; the command may have run"
                    )
                )
        self._requests.clear()
        self._lost()


async def open_wire(
    program: TmuxProgram,
    target: str,
    *,
    lost: Callable[[], None],
    notice: Callable[[str], None],
) -> Wire:
    """Attach to a session. Nothing is proved until a first request is answered."""
    # no-output: a control client that stalls would block the agents' panes.
    # ignore-size: nobody looks at it, so it must not shrink anybody's window.
    # -E: the session's environment is not to become ours.
    argv = program.argv("-C", "attach", "-E", "-f", "no-output,ignore-size", "-t", target)
    _, wire = await asyncio.get_running_loop().subprocess_exec(
        lambda: Wire(lost=lost, notice=notice),
        *argv,
        stderr=asyncio.subprocess.DEVNULL,
        env=clean_environment(),
        cwd="/",
    )
    return wire
