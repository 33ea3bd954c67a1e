"""The inbox of each session: a folder its agent watches, a note per message.

A note changes hands by one rename: the agent's hook takes it into ``taken``, we take it back into
``withdrawn``. Whoever comes second finds nothing. So a note is read by the agent at most once,
and one that was taken back was never read.
"""

import os
from pathlib import Path

from sm.adapters.folders import SessionFolders
from sm.core.ids import SessionId
from sm.core.terminal import NoteState


class Inboxes:
    """Fits the engine's ``Inbox``."""

    def __init__(self, folders: SessionFolders) -> None:
        self._folders = folders

    def folder(self, session: SessionId) -> str:
        folder = self._folders.folder(session) / "inbox"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return str(folder)

    def leave(self, session: SessionId, mark: str, text: str) -> None:
        if self.look(session, mark) is not NoteState.NEVER:
            return
        note = self._note(session, "inbox", mark)
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Written elsewhere first: the agent must never meet half a note.
        draft = note.parent.parent / f".{note.name}"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        draft.rename(note)

    def look(self, session: SessionId, mark: str) -> NoteState:
        if self._note(session, "taken", mark).exists():
            return NoteState.TAKEN
        if self._note(session, "withdrawn", mark).exists():
            return NoteState.WITHDRAWN
        if self._note(session, "inbox", mark).exists():
            return NoteState.WAITING
        # Taken between two of these looks.
        is_taken = self._note(session, "taken", mark).exists()
        return NoteState.TAKEN if is_taken else NoteState.NEVER

    def withdraw(self, session: SessionId, mark: str) -> bool:
        away = self._note(session, "withdrawn", mark)
        away.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._note(session, "inbox", mark).rename(away)
        except FileNotFoundError:
            return away.exists()
        return True

    def _note(self, session: SessionId, place: str, mark: str) -> Path:
        return self._folders.folder(session) / place / f"{mark}.note"
