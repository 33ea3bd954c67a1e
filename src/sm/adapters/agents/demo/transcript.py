"""The conversation's record on disk, in Claude Code's forms: one JSON line per record.

As Claude Code's, it lags a moment behind: records are written together, so that a kill -9 takes
the last of them along, and a hook that looks at once may not find them yet. Nothing is written
before the first prompt. Screen, turn and background hooks write to it from their own threads.
"""

import contextlib
import json
import os
import re
import threading
import time
import uuid
import zlib
from pathlib import Path
from typing import Any

from sm.adapters.agents.demo import private

VERSION = "demo"
MODEL = "demo-model"
AGAIN_AFTER = 0.5
"""Seconds, where nothing can be written."""
LONGEST_FOLDER = 200
_JSON = json.JSONDecoder()


def path_for(config: Path, cwd: str, session_id: str) -> Path:
    """As Claude Code, which cuts a name no folder could have and adds a hash."""
    folder = re.sub(r"[^a-zA-Z0-9]", "-", cwd)
    if len(folder) > LONGEST_FOLDER:
        whole = zlib.crc32(os.fsencode(cwd))
        folder = f"{folder[:LONGEST_FOLDER]}-{whole:08x}"
    return config / "projects" / folder / f"{session_id}.jsonl"


class Transcript:
    """Begun with the first thing said: a session without a prompt leaves no file."""

    def __init__(
        self,
        path: Path,
        *,
        session_id: str,
        cwd: str,
        delay: float = 0.0,
        agent_id: str | None = None,
    ) -> None:
        self.path = path
        self._session_id = session_id
        self._cwd = cwd
        self._delay = delay
        self._agent_id = agent_id
        self._lock = threading.RLock()
        self._fd: int | None = None
        self._parent: str | None = None
        self._unwritten: list[bytes] = []
        self._is_begun = False
        self._flusher: threading.Timer | None = None

    @property
    def files(self) -> Path:
        """The folder beside the record for what is kept of the same session."""
        return self.path.with_suffix("")

    def resume(self) -> list[dict[str, Any]]:
        """Go on where an earlier process stopped; what it has recorded, torn lines left out."""
        records = [record for line in _lines(self.path) if (record := _decoded(line))]
        uuids = [record["uuid"] for record in records if "uuid" in record]
        self._parent = uuids[-1] if uuids else None
        self._is_begun = True
        # As Claude Code's: behind a line without an end stands what nobody needs.
        snapshot = {"messageId": str(uuid.uuid4()), "snapshot": {}, "isSnapshotUpdate": False}
        self._unwritten.append(_line({"type": "file-history-snapshot", **snapshot}))
        return records

    def user(self, content: object, prompt_id: str | None, **fields: object) -> str:
        message = {"role": "user", "content": content}
        return self._append("user", promptId=prompt_id, message=message, **fields)

    def prompt(self, text: str, prompt_id: str | None, *, by_person: bool = True) -> str:
        kind, source = ("human", "typed") if by_person else ("task-notification", "system")
        whose = {"origin": {"kind": kind}, "promptSource": source}
        return self.user(text, prompt_id, permissionMode="default", **whose)

    def assistant(self, block: dict[str, Any], usage: dict[str, Any], *, stop_reason: str) -> str:
        """One content block of a reply: Claude Code writes a record for each."""
        message = {
            "id": f"msg_{uuid.uuid4().hex[:24]}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "stop_sequence": None,
            "usage": usage,
            "content": [block],
            "stop_reason": stop_reason,
        }
        return self._append("assistant", message=message, requestId=f"req_{uuid.uuid4().hex[:16]}")

    def api_error(self, text: str, error: str) -> str:
        """Written by the client, not the model: zero usage, to be skipped by readers."""
        kinds = ("input", "output", "cache_creation_input", "cache_read_input")
        message = {
            "id": str(uuid.uuid4()),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "stop_reason": "stop_sequence",
            "content": [{"type": "text", "text": text}],
            "usage": {f"{kind}_tokens": 0 for kind in kinds},
        }
        return self._append("assistant", message=message, error=error, isApiErrorMessage=True)

    def attachment(self, **attachment: object) -> str:
        return self._append("attachment", attachment=attachment)

    def system(self, subtype: str, **fields: object) -> str:
        return self._append("system", subtype=subtype, **fields)

    def queue_operation(self, operation: str, content: str | None = None) -> None:
        """Something was put into the queue or taken out; no proof that the model got it."""
        record = {"type": "queue-operation", "operation": operation, "timestamp": now()}
        said = {} if content is None else {"content": content}
        with self._lock:
            self._put({**record, "sessionId": self._session_id, **said})

    def boundary(self, *, trigger: str, before: int, after: int, took_ms: int) -> str:
        """A compaction: what is above is no longer in the model's context."""
        logical, self._parent = self._parent, None
        metadata = {
            "trigger": trigger,
            "preTokens": before,
            "postTokens": after,
            "durationMs": took_ms,
            "cumulativeDroppedTokens": before - after,
        }
        return self.system(
            "compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=logical,
            level="info",
            compactMetadata=metadata,
        )

    def flush(self) -> None:
        """Write what is not written yet, unless nothing was said so far."""
        with self._lock:
            self._flusher = None
            if self._unwritten and self._is_begun:
                left = self._write(b"".join(self._unwritten))
                self._unwritten = [left] if left else []
                if left:
                    self._flush_after(AGAIN_AFTER)

    def _append(self, kind: str, **fields: object) -> str:
        record_id = str(uuid.uuid4())
        typed = {"type": kind}
        # Claude Code puts the type behind what a program said, before what a person said.
        said = {**fields, **typed} if kind in ("assistant", "attachment") else {**typed, **fields}
        with self._lock:
            self._is_begun = self._is_begun or kind != "attachment"
            head = {"parentUuid": self._parent, "isSidechain": self._agent_id is not None}
            agent = {"agentId": self._agent_id} if self._agent_id else {}
            self._put({**head, **agent, **said, "uuid": record_id, **self._common()})
            self._parent = record_id
        return record_id

    def _common(self) -> dict[str, Any]:
        return {
            "timestamp": now(),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self._cwd,
            "sessionId": self._session_id,
            "version": VERSION,
        }

    def _put(self, record: dict[str, Any]) -> None:
        if self._fd is None and not self._unwritten and not self.path.exists():
            mode = {"type": "mode", "mode": "normal", "sessionId": self._session_id}
            self._unwritten.append(_line(mode))
        self._unwritten.append(_line(record))
        if self._delay == 0:
            self.flush()
        elif self._flusher is None:
            self._flush_after(self._delay)

    def _flush_after(self, seconds: float) -> None:
        self._flusher = threading.Timer(seconds, self.flush)
        self._flusher.daemon = True
        self._flusher.start()

    def _write(self, lines: bytes) -> bytes:
        """What could not be written: a disk that is full may have room again later."""
        with contextlib.suppress(OSError):
            if self._fd is None:
                private.make_folder(self.path.parent)
                self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            while lines:
                lines = lines[os.write(self._fd, lines) :]
        return lines


def now() -> str:
    """This moment as Claude Code writes it."""
    moment = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))
    return f"{stamp}.{int(moment % 1 * 1000):03d}Z"


def _line(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        # The first, where another was written behind it.
        record, _ = _JSON.raw_decode(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
