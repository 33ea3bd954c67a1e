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
    """Leaves signals to the worker."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    app: ASGIApp,
    guarded: ASGIApp,
    sockets: Sequence[socket.socket],
    stopping: asyncio.Event,
) -> None:
    """Answer on every socket until told to stop."""
    servers = [(_server(app if s.family == socket.AF_UNIX else guarded), s) for s in sockets]
    async with asyncio.TaskGroup() as tasks:
        for server, listener in servers:
            tasks.create_task(server.serve(sockets=[listener]))
        await stopping.wait()
        for server, _ in servers:
            server.should_exit = True


def _server(app: ASGIApp) -> Server:
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
        )
    )
