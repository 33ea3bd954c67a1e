"""Files of what each session's terminal held, as text: what is left when the terminal is gone.

One folder for each session, closed to others. A file is named by the moment (UTC), what it was
taken for and its lines, so that none need be opened to be listed. It is written whole or not at
all; everything else that lies there is passed over. Secrets stand in it as they stood on the
screen. All of this blocks: it is called in threads.
"""

import contextlib
import os
import re
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sm.adapters.files import write_private
from sm.core.ids import SessionId
from sm.core.snapshot import Snapshot, Why, surplus

_MOMENT = "%Y%m%dT%H%M%S"
_WORDS = {why.value.replace(" ", "-"): why for why in Why}
_NAME = re.compile(
    rf"(20\d{{6}}T\d{{6}})\.(\d{{3}})Z-({'|'.join(_WORDS)})-(\d{{1,9}})-lines", re.ASCII
)
_SUFFIX = ".txt"
_UNFINISHED = re.compile(rf"\.({_NAME.pattern}){re.escape(_SUFFIX)}\.\d+", re.ASCII)
"""As ``write_private`` calls a file until it is whole."""


class SnapshotFolders:
    """Fits the engine's ``Snapshots``."""

    def __init__(self, folder: Callable[[SessionId], Path]) -> None:
        """Given where each session's snapshots are."""
        self._folder_of = folder

    def keep(self, session: SessionId, text: bytes, *, at: float, why: Why) -> Snapshot:
        """Write a text down, unless the newest snapshot says the same: then that one.

        Raises OSError, and leaves nothing behind, where the disk takes nothing.
        """
        newest = self.last(session)
        if newest is not None and newest.size == len(text) and _content(newest) == text:
            return newest
        lines = text.count(b"\n") + (not text.endswith(b"\n"))
        path = self._path(session, _name(at, why, lines, newest))
        _close(path.parent)
        write_private(path, text)
        # What is too much now is still too much the next time.
        with contextlib.suppress(OSError):
            self.prune(session)
        return _snapshot(session, path, len(text))

    def last(self, session: SessionId) -> Snapshot | None:
        """The newest, if there is any."""
        return next(iter(self.all(session)), None)

    def all(self, session: SessionId) -> list[Snapshot]:
        """Newest first."""
        sizes = self._sizes(session)
        return [_snapshot(session, self._path(session, name), size) for name, size in sizes]

    def read(self, session: SessionId, name: str) -> str:
        """What one of them says. Raises OSError where there is none, or it cannot be read."""
        if not _is_name(name):
            raise FileNotFoundError(f"no snapshot is called {name!r}")
        return self._path(session, name).read_bytes().decode(errors="replace")

    def prune(self, session: SessionId) -> None:
        """Remove those that are too many, and what a killed writer left. Raises OSError."""
        folder = self._folder(session)
        for name in surplus(self._sizes(session)):
            self._path(session, name).unlink(missing_ok=True)
        for path in folder.iterdir():
            if _UNFINISHED.fullmatch(path.name) and path.suffix != f".{os.getpid()}":
                path.unlink(missing_ok=True)

    def forget(self, session: SessionId) -> None:
        """Remove all of them, and the folder unless something else lies in it."""
        folder = self._folder(session)
        # What cannot be removed now is what a person would find, too.
        with contextlib.suppress(OSError):
            for path in folder.iterdir():
                if _is_name(path.stem) or _UNFINISHED.fullmatch(path.name):
                    path.unlink(missing_ok=True)
            folder.rmdir()

    def _folder(self, session: SessionId) -> Path:
        if not re.fullmatch(r"[\w-]+", session):
            raise ValueError(f"not a plain word: {session!r}")
        return self._folder_of(session)

    def _path(self, session: SessionId, name: str) -> Path:
        return self._folder(session) / f"{name}{_SUFFIX}"

    def _sizes(self, session: SessionId) -> list[tuple[str, int]]:
        """Names with their sizes, newest first. An empty file is what a full disk leaves."""
        sizes = []
        with contextlib.suppress(OSError), os.scandir(self._folder(session)) as entries:
            for entry in entries:
                name = entry.name.removesuffix(_SUFFIX)
                if name != entry.name and _is_name(name):
                    with contextlib.suppress(OSError):  # gone meanwhile
                        state = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(state.st_mode) and state.st_size:
                            sizes.append((name, state.st_size))
        return sorted(sizes, reverse=True)


def _snapshot(session: SessionId, path: Path, size: int) -> Snapshot:
    at, why, lines = _parsed(path.stem)
    return Snapshot(
        session=session, name=path.stem, path=str(path), at=at, lines=lines, size=size, why=why
    )


def _content(snapshot: Snapshot) -> bytes | None:
    try:
        return Path(snapshot.path).read_bytes()
    except OSError:
        return None


def _name(at: float, why: Why, lines: int, newest: Snapshot | None) -> str:
    """Behind the newest also when the clock was set back, or has not moved."""
    millis = round(at * 1000)
    if newest is not None:
        millis = max(millis, round(newest.at * 1000) + 1)
    seconds, rest = divmod(millis, 1000)
    moment = datetime.fromtimestamp(seconds, UTC)
    word = next(word for word, meant in _WORDS.items() if meant is why)
    return f"{moment:{_MOMENT}}.{rest:03d}Z-{word}-{lines}-lines"


def _parsed(name: str) -> tuple[float, Why, int]:
    """When, why and how many lines. Raises ValueError where it is no name of ours."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(name)
    moment = datetime.strptime(f"{found[1]}+0000", f"{_MOMENT}%z")
    return moment.timestamp() + int(found[2]) / 1000, _WORDS[found[3]], int(found[4])


def _is_name(name: str) -> bool:
    try:
        _parsed(name)
    except ValueError:
        return False
    return True


def _close(folder: Path) -> None:
    """Make the folder; one that is open to others is closed."""
    for path in (folder.parent, folder):
        # One by one: mkdir closes only the last of several to others.
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
