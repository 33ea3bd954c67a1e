"""Hooks that wait on the disk: those nobody was there to take, and those nobody could read.

The stub writes ``<time>-<hook id>.hook``: a JSON header line, the agent's payload as it came, and a
checksum line. Names sort by the time the hooks happened. What cannot be used is never deleted on
the spot: it moves to ``bad/`` with the reason beside it. Not for two readers at once.
"""

import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sm.core.ids import HookId, SessionId

KEPT_BAD = 1000
LEFTOVER_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpooledHook:
    session: SessionId
    hook: HookId
    at: float
    """The producer's clock, as stamped by the stub."""
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TornHook:
    """A file in the spool that holds no whole hook."""

    reason: str


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    session: str
    hook: str
    at: float


class Spool:
    """One folder of hooks. Made when first written to; a missing folder is an empty one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bad_folder = folder / "bad"

    def drain_order(self) -> list[Path]:
        """Every whole file, in the order the hooks happened."""
        return sorted(path for path in self.folder.glob("*.hook") if path.name[0] != ".")

    def read(self, path: Path) -> SpooledHook | TornHook:
        try:
            content = path.read_bytes()
        except OSError as error:
            return TornHook(reason=f"It cannot be read: {error.strerror}.")
        body, _, checksum = content.removesuffix(b"\n").rpartition(b"\n")
        if checksum != _checksum(body):
            return TornHook(reason="Its checksum does not fit: it was not written to the end.")
        head, _, payload = body.partition(b"\n")
        try:
            header = msgspec.json.decode(head, type=_Header)
        except msgspec.MsgspecError as error:
            return TornHook(reason=f"Its first line is no header: {error}.")
        return SpooledHook(
            session=SessionId(header.session),
            hook=HookId(header.hook),
            at=header.at,
            payload=payload,
        )

    def done(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def set_aside(self, path: Path, why: str) -> None:
        """A file that vanished meanwhile leaves nothing to keep."""
        kept = self.bad_folder / path.name.lstrip(".")
        self._say_why(kept.name, why)
        try:
            path.rename(kept)
        except FileNotFoundError:
            _why_path(kept).unlink()
        self._forget_oldest()

    def reject(self, session: SessionId, hook: HookId, at: float, payload: bytes, why: str) -> None:
        """Keep a hook that came by another way than the spool and could not be used."""
        # The values are the caller's own words: no file may be named by them as they are.
        stamp = min(max(0.0, at), 9e9)
        plain = re.sub(r"[^0-9A-Za-z_-]", "_", hook)[:64]
        name = f"{round(stamp * 1e6) * 1000:020d}-{plain}.hook"
        header = msgspec.json.encode(_Header(session=session, hook=hook, at=stamp))
        body = header + b"\n" + payload
        self._say_why(name, why)
        _write_private(self.bad_folder / name, body + b"\n" + _checksum(body) + b"\n")
        self._forget_oldest()

    def sweep(self, now: float) -> list[Path]:
        """Set aside what stubs that died while writing left behind; say which."""
        old = [path for path in self.folder.glob(".*") if _age(path, now) > LEFTOVER_SECONDS]
        for path in old:
            self.set_aside(path, "The stub that wrote it did not finish.")
        return old

    def bad(self, *, newest: int = KEPT_BAD) -> list[tuple[Path, str]]:
        """What was set aside and why: the newest, oldest of them first."""
        return [(path, _reason_of(path)) for path in self._bad_paths()[-newest:]]

    def _bad_paths(self) -> list[Path]:
        return sorted(path for path in self.bad_folder.glob("*") if path.suffix != ".why")

    def _say_why(self, name: str, why: str) -> None:
        # Before the file itself: a reason without a file harms nobody.
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.bad_folder.mkdir(mode=0o700, exist_ok=True)
        _write_private(self.bad_folder / f"{name}.why", f"{why}\n".encode())

    def _forget_oldest(self) -> None:
        for path in self._bad_paths()[:-KEPT_BAD]:
            path.unlink(missing_ok=True)
            _why_path(path).unlink(missing_ok=True)


def _checksum(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)


def _why_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.why")


def _reason_of(path: Path) -> str:
    try:
        return _why_path(path).read_text(errors="replace").removesuffix("\n")
    except FileNotFoundError:
        return ""


def _age(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _write_private(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "wb") as stream:
        stream.write(content)
