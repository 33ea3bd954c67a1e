"""Tokens: one for the owner, one for each session; kept in files only their owner can read."""

import secrets
from collections.abc import Mapping

from sm.adapters.folders import SessionFolders, write_private
from sm.core.ids import SessionId
from sm.settings.home import Home


class Tokens:
    def __init__(self, home: Home, folders: SessionFolders) -> None:
        self._home = home
        self._folders = folders

    def admin(self) -> str:
        """The owner's token, made at the first start."""
        try:
            return self._home.token.read_text().strip()
        except FileNotFoundError:
            token = secrets.token_urlsafe(32)
            write_private(self._home.token, f"{token}\n".encode())
            return token

    def identity(self, session: SessionId) -> Mapping[str, str]:
        """What a new session's agent is given to say who it is."""
        token = secrets.token_urlsafe(24)
        write_private(self._folders.folder(session) / "token", f"{token}\n".encode())
        moved = {} if self._home.is_default else {"SM_HOME": str(self._home.base)}
        return {"CLAUDE_SESSION_MANAGER_ID": session, "SM_SESSION_TOKEN": token, **moved}

    def of_session(self, session: str) -> str | None:
        if not session.isalnum():
            return None
        try:
            return (self._folders.folder(SessionId(session)) / "token").read_text().strip()
        except OSError:
            return None
