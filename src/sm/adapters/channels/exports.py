"""What others may read of the ledger: a manifest and the current document per channel, and history.

Copies, in the formats of the founding documents; the ledger is the truth. Every file is written
whole or not at all, and nothing outside the folder.
"""

import contextlib
import json
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sm.adapters.channels.documents import read_named
from sm.adapters.files import sync_folder, write_private
from sm.core.channel import ChannelHandoff, Status, checked_handoff_name, checked_name, is_over
from sm.core.passage import DocumentError

ARCHIVE = "archive"


def manifest_path(folder: Path, channel: str) -> Path:
    return folder / f"{checked_name(channel)}.manifest.json"


def current_path(folder: Path, channel: str) -> Path:
    return folder / f"{checked_name(channel)}-CURRENT.md"


def archived_path(folder: Path, handoff: ChannelHandoff) -> Path:
    name = checked_handoff_name(handoff.id)
    return folder / ARCHIVE / checked_name(handoff.channel) / f"{name}.md"


def exported_revision(folder: Path, channel: str) -> int | None:
    """How new a whole export is; None where there is none."""
    try:
        told = json.loads(manifest_path(folder, channel).read_bytes())
        return int(told["revision"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def export(
    folder: Path, channel: str, revision: int, recent: Sequence[ChannelHandoff]
) -> list[str]:
    """Bring a channel's files up to date; what could not be written, in words.

    ``recent`` are its last handoffs, the active one first, then the newest. The manifest comes
    last and tells the revision only if everything else is there.
    """
    failed: list[str] = []
    for handoff in recent:
        with _noting(failed, f"the copy of {handoff.id}"):
            _archive(folder, handoff)
    current = recent[0]
    with _noting(failed, "the current document"):
        _show(folder, channel, current)
    with _noting(failed, "the manifest"):
        told = _manifest(channel, None if failed else revision, current)
        text = json.dumps(told, indent=2, ensure_ascii=False)
        write_private(manifest_path(folder, channel), f"{text}\n".encode(errors="replace"))
    return failed


def _archive(folder: Path, handoff: ChannelHandoff) -> None:
    path = archived_path(folder, handoff)
    if path.is_file():
        return
    try:
        content = read_named(handoff.document, handoff.id)
    except DocumentError:
        if is_over(handoff.status):
            return  # there is nothing left to be kept, and nobody waits for it
        raise
    for place in (path.parents[1], path.parent):
        place.mkdir(mode=0o700, exist_ok=True)
        if not stat.S_ISDIR(place.lstat().st_mode):
            raise NotADirectoryError(20, "a link leads elsewhere", str(place))
    write_private(path, content)


def _show(folder: Path, channel: str, current: ChannelHandoff) -> None:
    path = current_path(folder, channel)
    if current.status is Status.ACTIVE:
        write_private(path, read_named(current.document, current.id))
    elif path.exists():
        path.unlink()
        sync_folder(folder)


def _manifest(channel: str, revision: int | None, current: ChannelHandoff) -> dict[str, Any]:
    return {
        "channel": channel,
        "revision": revision,
        "current": {
            "id": current.id,
            "session_id": current.context or current.session,
            "created_at": _iso(current.created_at),
            "created_by_pid": current.created_by_pid,
            "working_dir": current.working_dir,
            "type": current.kind.value,
            "status": current.status.value,
            "session": current.session,
            "root": current.root,
            "document": current.document,
            "sha256": current.sha256,
            "claimed_by": current.claimed_by,
            "claimed_at": _iso(current.claimed_at),
            "consumed_by": current.consumed_by,
            "consumed_at": _iso(current.consumed_at),
        },
    }


def _iso(at: float | None) -> str | None:
    return None if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"


@contextlib.contextmanager
def _noting(failed: list[str], what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        failed.append(f"{what}: {error.strerror}")
    except DocumentError as error:
        failed.append(f"{what}: {error}")
