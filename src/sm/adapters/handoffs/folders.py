"""The folder of each handoff: the document, what the terminal showed, and what else is known.

Every file is written whole or not at all, readable by its owner alone. Documents are kept without
secrets. ``artifacts.json`` comes last and names what stands beside it, with checksums. All of this
blocks: it is called in threads.
"""

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sm.adapters.handoffs import git
from sm.adapters.handoffs.document import checked, read_document
from sm.core.ids import HandoffId, SessionId
from sm.core.passage import Captured, DocumentError, Facts, Kept

DOCUMENT, DUMP, GIT, ARTIFACTS = "document", "dump.txt", "git.txt", "artifacts.json"
SUFFIXES = (".md", ".markdown", ".txt", ".org", ".rst", ".adoc")
PLACEHOLDER = "[redacted:"
"""What stands in a secret's place begins so."""
VERSION = 1


class HandoffFolders:
    """Fits the engine's ``Handoffs``."""

    def __init__(
        self, folder: Callable[[SessionId], Path], *, redact: Callable[[str], str] = str
    ) -> None:
        """Given where each session's own folder is, and what takes secrets out of a text."""
        self._session_folder = folder
        self._redact = redact

    def folder(self, session: SessionId, handoff: HandoffId) -> Path:
        for word in (session, handoff):
            if not re.fullmatch(r"[\w-]+", word):
                raise ValueError(f"not a plain word: {word!r}")
        return self._session_folder(session) / "handoffs" / handoff

    def keep(self, session: SessionId, handoff: HandoffId, source: Path, limit: int) -> Kept:
        content = read_document(source, limit)
        return self._kept(self.folder(session, handoff), source.suffix, content)

    def keep_text(self, session: SessionId, handoff: HandoffId, text: str, limit: int) -> Kept:
        content = checked(text.encode(errors="replace"), "The document", limit)
        return self._kept(self.folder(session, handoff), ".md", content)

    def keep_beside(self, session: SessionId, handoff: HandoffId, files: Mapping[str, str]) -> None:
        folder = self.folder(session, handoff)
        for name, text in files.items():
            with _kept_or_said():
                _write(folder / name, text.encode(errors="replace"))

    def beside(self, session: SessionId, handoff: HandoffId, name: str) -> str | None:
        try:
            return (self.folder(session, handoff) / name).read_text()
        except (OSError, ValueError):
            return None

    def place(self, session: SessionId, handoff: HandoffId) -> str:
        return str(self.folder(session, handoff))

    def refresh(
        self, session: SessionId, handoff: HandoffId, source: Path, limit: int
    ) -> Kept | None:
        try:
            return self.keep(session, handoff, source, limit)
        except DocumentError:
            return self.last(session, handoff)

    def last(self, session: SessionId, handoff: HandoffId) -> Kept | None:
        for path in self.folder(session, handoff).glob(f"{DOCUMENT}.*"):
            with contextlib.suppress(OSError):
                content = path.read_bytes()
                return Kept(
                    path=str(path), size=len(content), sha256=_sha256(content), current=False
                )
        return None

    def _kept(self, folder: Path, suffix: str, content: bytes) -> Kept:
        text = content.decode(errors="replace")
        clean = self._redact(text)
        redacted = clean.count(PLACEHOLDER) - text.count(PLACEHOLDER)
        with _kept_or_said():
            kept = self._store(folder, suffix.lower(), clean.encode(errors="replace"))
        return replace(kept, redacted=max(redacted, 0))

    def _store(self, folder: Path, suffix: str, content: bytes) -> Kept:
        path = folder / f"{DOCUMENT}{suffix if suffix in SUFFIXES else '.md'}"
        if not path.is_file() or path.read_bytes() != content:
            _write(path, content)
        for other in folder.glob(f"{DOCUMENT}.*"):
            if other != path:
                other.unlink()
        return Kept(path=str(path), size=len(content), sha256=_sha256(content))

    def capture(self, session: SessionId, handoff: HandoffId, facts: Facts) -> Captured:
        folder = self.folder(session, handoff)
        failed = dict(facts.failed)
        dump = _dump(folder, facts, failed)
        tree = _work_tree(folder, facts, failed)
        record = {**_known(handoff, facts), "git": tree, "files": _files(folder, failed)}
        _check_document(facts, record["files"], failed)
        artifacts = folder / ARTIFACTS
        try:
            text = json.dumps({**record, "failed": failed}, indent=2, ensure_ascii=False)
            _write(artifacts, f"{text}\n".encode(errors="replace"))
        except OSError as error:
            failed[ARTIFACTS] = _reason(error)
        return Captured(
            dump=str(dump) if dump.is_file() else None,
            artifacts=None if ARTIFACTS in failed else str(artifacts),
            failed=failed,
        )

    def git(self, cwd: str) -> str:
        try:
            tree = git.look(cwd)
        except (git.GitError, OSError, ValueError) as error:
            return f"git could not tell: {_reason(error)}\n"
        return tree.text if tree is not None else ""


@contextlib.contextmanager
def _kept_or_said() -> Iterator[None]:
    """A disk that takes nothing, in words for whoever hands over."""
    try:
        yield
    except OSError as error:
        raise DocumentError(
            f"The document cannot be kept: {error.strerror}. "
            "Make room in sm's folder or make it writable, then hand off again."
        ) from None


def _dump(folder: Path, facts: Facts, failed: dict[str, str]) -> Path:
    """A dump of an earlier try stays where there is none now."""
    path = folder / DUMP
    if facts.dump is None:
        if not path.is_file():
            failed.setdefault("dump", "the pane was gone")
        return path
    try:
        _write(path, facts.dump)
    except OSError as error:
        failed["dump"] = _reason(error)
    return path


def _work_tree(folder: Path, facts: Facts, failed: dict[str, str]) -> dict[str, Any] | None:
    try:
        tree = git.look(facts.cwd)
        if tree is None:
            return None
        _write(folder / GIT, tree.text.encode(errors="replace"))
    except (git.GitError, OSError, ValueError) as error:
        failed["git"] = _reason(error)
        return None
    return {"branch": tree.branch, "commit": tree.commit, "changes": len(tree.changes)}


def _known(handoff: HandoffId, facts: Facts) -> dict[str, Any]:
    return {
        "version": VERSION,
        "handoff": handoff,
        "created_at": facts.at,
        "session": {"id": facts.session, "name": facts.name},
        "agent": facts.agent,
        "cwd": facts.cwd,
        "context": {"number": facts.context, "id": facts.context_id},
        "document": facts.document.path if facts.document else None,
        "raw_log": _place(facts.raw_log),
        "transcript": _place(facts.transcript),
        "background_tasks": list(facts.background),
    }


def _place(path: str | None) -> dict[str, Any] | None:
    """A file that goes on growing: where it is, and how far it had come."""
    if path is None:
        return None
    try:
        return {"path": path, "size": Path(path).stat().st_size}
    except (OSError, ValueError):
        return {"path": path, "size": None}


def _files(folder: Path, failed: dict[str, str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    try:
        for path in sorted(folder.iterdir()):
            if path.name != ARTIFACTS and not path.name.startswith("."):
                content = path.read_bytes()
                found[path.name] = {"size": len(content), "sha256": _sha256(content)}
    except OSError as error:
        failed["files"] = _reason(error)
    return found


def _check_document(facts: Facts, files: dict[str, dict[str, Any]], failed: dict[str, str]) -> None:
    kept = facts.document
    if kept is None:
        return
    found = files.get(Path(kept.path).name)
    if found is None:
        failed["document"] = "its copy is gone"
    elif found["sha256"] != kept.sha256:
        failed["document"] = "its copy is not what was kept"


def _write(path: Path, content: bytes) -> None:
    """Replace a file in one step, durable, closed to others from its first moment."""
    for folder in (path.parents[2], path.parents[1], path.parent):
        # One by one: mkdir closes only the last of several to others.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
