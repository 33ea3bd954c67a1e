"""The list of what the person was told: a file in the state's folder, written whole.

Knows each notice by its id, so none is ever listed twice, not even one that was cleared. Keeps the
newest; a list that cannot be read is begun anew.
"""

import threading
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import msgspec

from sm.adapters.files import write_private
from sm.core.ids import NoticeId
from sm.core.notices import PersonNotice

KEPT = 200
"""Notices, cleared ones among them: those are only known again."""


class _Listed(msgspec.Struct, frozen=True, kw_only=True):
    notice: PersonNotice
    told: bool = False
    """Whoever could be told besides was told; after a crash in between it is done again."""
    cleared: bool = False


class NoticeBook:
    """One process writes it; its threads take turns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._entries: dict[NoticeId, _Listed] | None = None

    def note(self, notice: PersonNotice) -> bool:
        """List it; False if it is known and nobody is to be told of it any more."""
        with self._lock:
            known = self._listed.get(notice.id)
            if known is None:
                self._keep({**self._listed, notice.id: _Listed(notice=notice)})
            return known is None or not known.told

    def told(self, notice: NoticeId) -> None:
        with self._lock:
            known = self._listed.get(notice)
            if known is not None:
                self._keep({**self._listed, notice: msgspec.structs.replace(known, told=True)})

    def all(self) -> list[PersonNotice]:
        """What was not cleared, oldest first."""
        with self._lock:
            return [entry.notice for entry in self._listed.values() if not entry.cleared]

    def take(self, notices: Collection[PersonNotice]) -> None:
        """List what was told elsewhere, where nobody lists it any more."""
        with self._lock:
            new = {n.id: _Listed(notice=n, told=True) for n in notices if n.id not in self._listed}
            if new:
                self._keep({**self._listed, **new})

    def see(self, notices: Collection[str]) -> None:
        """The person has these before their eyes."""
        with self._lock:
            seen = {
                id_: msgspec.structs.replace(entry, notice=replace(entry.notice, seen=True))
                for id_, entry in self._listed.items()
                if id_ in notices and not entry.notice.seen
            }
            if seen:
                self._keep({**self._listed, **seen})

    def clear(self) -> int:
        """Put everything away; how many there were."""
        with self._lock:
            shown = {id_: e for id_, e in self._listed.items() if not e.cleared}
            if shown:
                gone = {i: msgspec.structs.replace(e, cleared=True) for i, e in shown.items()}
                self._keep({**self._listed, **gone})
            return len(shown)

    @property
    def _listed(self) -> dict[NoticeId, _Listed]:
        if self._entries is None:
            self._entries = {entry.notice.id: entry for entry in _read(self._path)}
        return self._entries

    def _keep(self, entries: dict[NoticeId, _Listed]) -> None:
        """On a full disk they are known until we end."""
        self._entries = dict(list(entries.items())[-KEPT:])
        write_private(self._path, msgspec.json.encode(list(self._entries.values())))


def _read(path: Path) -> list[_Listed]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[_Listed])
    except (OSError, ValueError):
        return []
