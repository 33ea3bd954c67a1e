"""Who may call over TCP: only who holds the token, from no foreign page or host name."""

import hmac
import re
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from sm.web.endpoint import problem

_LOCAL = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]+)?", re.IGNORECASE)
"""Our own names, with or without a port."""
_OWN = re.compile(r"/hooks/([^/]+)|/sessions/([^/]+)/handoff")
"""What a session may call, by its id."""

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
            # Nothing of ours speaks anything else, and nothing else would show a token.
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._refusal(scope["path"], Headers(scope=scope))
        if refusal is not None:
            status, words = refusal
            await problem(status, words)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> tuple[int, str] | None:
        if not _is_local(headers.get("host", "")):
            return 403, "This address answers to its own name only."
        if "origin" in headers and not _is_local(headers["origin"].partition("://")[2]):
            return 403, "Pages from elsewhere may not call sm."
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not self._is_allowed(path, given):
            return 401, "A token is needed: Authorization: Bearer …, from the state folder."
        return None

    def _is_allowed(self, path: str, given: str) -> bool:
        if hmac.compare_digest(given.encode(), self._token.encode()):
            return True
        # A session's own token is good for that session's hooks and handoff and nothing else.
        found = _OWN.fullmatch(path)
        own = self._session_token(found.group(1) or found.group(2)) if found else None
        return own is not None and hmac.compare_digest(given.encode(), own.encode())


def _is_local(name: str) -> bool:
    return _LOCAL.fullmatch(name) is not None
