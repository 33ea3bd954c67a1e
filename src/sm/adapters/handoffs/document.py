"""Reads the document an agent wrote for its successor, or says what is wrong with it.

The file is somebody else's: it may be anything, and reading it must never block.
"""

import os
import shlex
import stat
from pathlib import Path

from sm.core.passage import DocumentError


def read_document(source: Path, limit: int) -> bytes:
    """The document's text, UTF-8; raises DocumentError with what to do about it."""
    name = _shown(source)
    return checked(_content(source, name, limit), name, limit)


def checked(content: bytes, name: str, limit: int) -> bytes:
    """The content, if it is a document at all."""
    if len(content) > limit:
        raise DocumentError(
            f"{name} is larger than {_size(limit)}. Shorten it: name the files that hold the "
            "details in place of repeating them."
        )
    if b"\0" in content:
        raise DocumentError(f"{name} is not a text. Write the handoff document as UTF-8 text.")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise DocumentError(f"{name} is not UTF-8 text. Save it as UTF-8.") from None
    if not text.removeprefix("\ufeff").strip():
        raise DocumentError(
            f"{name} is empty. Write down what your successor needs; "
            "sm handoff --template shows an outline."
        )
    return content


def _content(source: Path, name: str, limit: int) -> bytes:
    """Up to one byte more than allowed."""
    try:
        # Asked before opening: a device may do something when it is opened.
        _check_kind(source.stat().st_mode, name)
        # Not waiting for a writer if it has become a FIFO since.
        handle = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(handle, "rb") as file:
            _check_kind(os.fstat(handle).st_mode, name)
            return file.read(limit + 1)
    except FileNotFoundError:
        raise DocumentError(
            f"There is no file {name}. Write the handoff document first, then name it."
        ) from None
    except PermissionError:
        raise DocumentError(f"{name} may not be read. Run: chmod u+r {shlex.quote(name)}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DocumentError(f"{name} cannot be read: {reason}. Name another file.") from None


def _check_kind(mode: int, name: str) -> None:
    if stat.S_ISDIR(mode):
        raise DocumentError(f"{name} is a folder. Name the handoff document in it.")
    if not stat.S_ISREG(mode):
        raise DocumentError(f"{name} is not a regular file. Write the document to a file.")


def _shown(path: Path) -> str:
    """On one line, and encodable, whatever the file is called."""
    name = os.fsencode(path).decode(errors="replace")
    return name if name.isprintable() else ascii(name)


def _size(limit: int) -> str:
    for unit, factor in (("MB", 1_000_000), ("KB", 1_000)):
        if limit >= factor:
            return f"{limit / factor:g} {unit}"
    return f"{limit} bytes"
