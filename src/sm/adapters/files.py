"""Files written whole or not at all, durable, readable by their owner alone."""

import os
from pathlib import Path


def write_private(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Replace a file in one step, durable, closed to others from its first moment."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """A new name is on the disk only when its folder is."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def keep_written(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write a file unless it says so already: a full disk must not keep us from starting."""
    try:
        if path.read_bytes() == content:
            return
    except OSError:
        pass
    write_private(path, content, mode=mode)
