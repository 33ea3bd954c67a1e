"""Somebody else's settings file: read as it is, replaced whole or not at all.

Links are followed, so that a file kept by a dotfile manager stays where it is. What cannot be read
or must not be written is refused in words, before anything happens.
"""

import os
import stat
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

NEW_MODE = 0o600


class InstallError(Exception):
    """Nothing was changed; the words say what is wrong, where, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A file at one moment."""

    path: Path
    """As the agent names it."""
    real: Path
    """Behind all links."""
    content: bytes | None
    """None: there is no file."""
    mode: int = NEW_MODE


def shown(path: Path | str) -> str:
    """A path on one line, whatever it is called."""
    name = str(path)
    return name if name.isprintable() else ascii(name)


def refuse_dangling(path: Path, real: Path) -> None:
    """A link into a folder that is not there is a mistake, or a disk that is not: neither is to be
    filled in."""
    if path.is_symlink() and not real.parent.exists():
        raise InstallError(
            f"{path} is a link to {real}, and the folder {real.parent} is not there. Make it, or"
            " take the link away; nothing was changed."
        )


def read(path: Path) -> Snapshot:
    real = Path(os.path.realpath(path))
    try:
        found = real.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InstallError(f"{path} is not a file. Move it away and try again.")
        content = real.read_bytes()
    except FileNotFoundError:
        refuse_dangling(path, real)
        return Snapshot(path=path, real=real, content=None)
    except OSError as error:
        raise InstallError(f"Cannot read {path}: {error.strerror}. Make it readable.") from None
    return Snapshot(path=path, real=real, content=content, mode=stat.S_IMODE(found.st_mode))


def check_writable(snapshot: Snapshot) -> None:
    """Refuse what must not be replaced; renaming would get past a file's own permissions."""
    if snapshot.content is None:
        return
    found = snapshot.real.stat()
    if found.st_uid != os.geteuid():
        raise InstallError(
            f"{snapshot.path} belongs to uid {found.st_uid}, you are {os.geteuid()}. "
            "Run this as its owner, without sudo."
        )
    if not found.st_mode & stat.S_IWUSR:
        raise InstallError(
            f"{snapshot.path} is read-only. Make it writable with: chmod u+w {snapshot.real}"
        )


def write(snapshot: Snapshot, content: bytes | None) -> None:
    """Replace the file, or delete it, if it is still what was read."""
    try:
        if content is None:
            _check_unchanged(snapshot)
            snapshot.real.unlink(missing_ok=True)
        else:
            _replace(snapshot, content)
    except OSError as error:
        words = f"Cannot write {snapshot.path}: {error.strerror}."
        raise InstallError(f"{words} Make its folder writable; nothing was changed.") from None


def _replace(snapshot: Snapshot, content: bytes) -> None:
    real = snapshot.real
    real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = real.with_name(f".{real.name}.sm-{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(beside, flags, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), snapshot.mode)
            os.fsync(file.fileno())
        _check_unchanged(snapshot)
        beside.replace(real)
    finally:
        beside.unlink(missing_ok=True)


def _check_unchanged(snapshot: Snapshot) -> None:
    now = read(snapshot.path)
    if (now.real, now.content) != (snapshot.real, snapshot.content):
        raise InstallError(
            f"{snapshot.path} was changed by another program just now. "
            "Nothing was written; try again."
        )


def diff(snapshot: Snapshot, after: bytes | None) -> list[str]:
    """A change as lines of a unified diff, without line ends."""
    path = str(snapshot.path)
    old, new = _lines(snapshot.content), _lines(after)
    return list(unified_diff(old, new, path, path, lineterm=""))


def _lines(content: bytes | None) -> list[str]:
    """For reading: line ends apart, a missing last one told as diff tells it."""
    text = (content or b"").decode(errors="replace")
    lines = text.replace("\r\n", "\n").split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines
