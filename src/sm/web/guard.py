"""Who may call over TCP: only who holds the token, from no foreign page or host name."""

import hmac
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from sm.web.endpoint import problem

_LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})

SessionToken = Callable[[str], str | None]
"""The token of one session, by its id."""


class Guard:
    """Wraps the application for the TCP listener; the unix socket needs none of this."""

    def __init__(self, app: ASGIApp, token: str, session_token: SessionToken) -> None:
        self._app = app
        self._token = token
        self._session_token = session_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope["path"], Headers(scope=scope))
        if refusal is not None:
            status, words = refusal
            await problem(status, words)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "").rsplit(":", 1)[0]
        if host not in _LOCAL:
            return 403, "This address answers to its own name only."
        if "origin" in headers:
            origin = headers["origin"].partition("://")[2].rsplit(":", 1)[0]
            if origin not in _LOCAL:
                return 403, "Pages from elsewhere may not call sm."
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not self._is_allowed(path, given):
            return 401, "A token is needed: Authorization: Bearer …, from the state folder."
        return None

    def _is_allowed(self, path: str, given: str) -> bool:
        if hmac.compare_digest(given.encode(), self._token.encode()):
            return True
        # A session's own token is good for that session's hooks and nothing else.
        if not path.startswith("/hooks/"):
            return False
        own = self._session_token(path.removeprefix("/hooks/"))
        return own is not None and hmac.compare_digest(given.encode(), own.encode())
