"""Tokens: one for the owner, one for each session; kept in files only their owner can read."""

import secrets
from collections.abc import Mapping
from pathlib import Path

from sm.adapters.files import write_private
from sm.adapters.folders import SessionFolders
from sm.core.ids import SessionId
from sm.settings.home import Home
from sm.settings.variables import SESSION_ID, SESSION_TOKEN


class Tokens:
    def __init__(self, home: Home, folders: SessionFolders) -> None:
        self._home = home
        self._folders = folders

    def admin(self) -> str:
        """The owner's token, made at the first start."""
        token = _read(self._home.token)
        if token is None:
            token = secrets.token_urlsafe(32)
            write_private(self._home.token, f"{token}\n".encode())
        return token

    def identity(self, session: SessionId) -> Mapping[str, str]:
        """What a new session's agent is given to say who it is."""
        token = secrets.token_urlsafe(24)
        write_private(self._folders.folder(session) / "token", f"{token}\n".encode())
        moved = {} if self._home.is_default else {"SM_HOME": str(self._home.base)}
        if moved and self._home.config != self._home.base / "config.toml":
            # A run has a home of its own, but no configuration.
            moved["SM_CONFIG"] = str(self._home.config)
        return {SESSION_ID: session, SESSION_TOKEN: token, **moved}

    def of_session(self, session: str) -> str | None:
        if not session.isalnum():
            return None
        return _read(self._folders.folder(SessionId(session)) / "token")


def _read(path: Path) -> str | None:
    """A token, if there is one: a file that is empty, or no text, must not open anything."""
    try:
        return path.read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None
