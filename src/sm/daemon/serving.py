"""uvicorn on the sockets the parent holds, under our own signals and lifetime."""

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class OwnersOnly(HttpToolsProtocol):
    """Closes a unix connection whose other end runs under another uid."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        uid = peer_uid(transport.get_extra_info("socket"))
        if uid not in (None, 0, os.geteuid()):
            transport.abort()


def peer_uid(connection: Any) -> int | None:
    """The uid at the other end of a unix socket, where the system can tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None or connection is None or connection.family != socket.AF_UNIX:
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", raw)
    return int(uid)


class Server(uvicorn.Server):
    """Leaves signals to the worker, and sleeps until told to stop: its base wakes every 0.1 s."""

    def __init__(self, config: uvicorn.Config, stopping: asyncio.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self._stopping.wait()


async def serve(
    app: ASGIApp,
    guarded: ASGIApp,
    sockets: Sequence[socket.socket],
    stopping: asyncio.Event,
) -> None:
    """Answer on every socket until told to stop."""
    async with asyncio.TaskGroup() as tasks:
        for listener in sockets:
            server = _server(app if listener.family == socket.AF_UNIX else guarded, stopping)
            tasks.create_task(server.serve(sockets=[listener]))


def _server(app: ASGIApp, stopping: asyncio.Event) -> Server:
    return Server(
        uvicorn.Config(
            app,
            http=OwnersOnly,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=1,
        ),
        stopping,
    )
