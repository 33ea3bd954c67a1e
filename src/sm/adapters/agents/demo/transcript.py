"""The conversation's record on disk, in Claude Code's forms: one JSON line per record.

Each record is handed to the system before the next thing happens, so that a kill -9 leaves what
was true up to then.
"""

import json
import os
import re
import time
import uuid
from pathlib import Path
from typing import Any

VERSION = "demo"
MODEL = "demo-model"


def path_for(config: Path, cwd: str, session_id: str) -> Path:
    folder = re.sub(r"[^a-zA-Z0-9]", "-", cwd)
    return config / "projects" / folder / f"{session_id}.jsonl"


class Transcript:
    """Begun with the first record: a session without a prompt leaves no file."""

    def __init__(self, path: Path, *, session_id: str, cwd: str) -> None:
        self.path = path
        self._session_id = session_id
        self._cwd = cwd
        self._fd: int | None = None
        self._parent: str | None = None

    def resume(self) -> str:
        """Go on where an earlier process stopped; everything it said, as text."""
        records = [record for line in _lines(self.path) if (record := _decoded(line))]
        uuids = [record["uuid"] for record in records if "uuid" in record]
        self._parent = uuids[-1] if uuids else None
        if not self.path.read_bytes().endswith(b"\n"):
            self._write(b"\n")
        return "\n".join(json.dumps(r["message"]) for r in records if "message" in r)

    def user(self, content: object, prompt_id: str | None, **fields: object) -> str:
        message = {"role": "user", "content": content}
        return self._append("user", promptId=prompt_id, message=message, **fields)

    def prompt(self, text: str, prompt_id: str | None) -> str:
        human = {"origin": {"kind": "human"}, "promptSource": "typed"}
        return self.user(text, prompt_id, permissionMode="default", **human)

    def assistant(self, block: dict[str, Any], usage: dict[str, Any], *, stop_reason: str) -> str:
        """One content block of a reply: Claude Code writes a record for each."""
        message = {
            "id": f"msg_{uuid.uuid4().hex[:24]}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "content": [block],
            "usage": usage,
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

    def _append(self, kind: str, **fields: object) -> str:
        if self._fd is None and not self.path.exists():
            self._write_json({"type": "mode", "mode": "normal", "sessionId": self._session_id})
        record_id = str(uuid.uuid4())
        record = {"parentUuid": self._parent, "isSidechain": False, "type": kind, **fields}
        self._write_json({**record, "uuid": record_id, **self._common()})
        self._parent = record_id
        return record_id

    def _common(self) -> dict[str, Any]:
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        return {
            "timestamp": f"{stamp}.{int(now % 1 * 1000):03d}Z",
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self._cwd,
            "sessionId": self._session_id,
            "version": VERSION,
        }

    def _write_json(self, record: dict[str, Any]) -> None:
        self._write(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def _write(self, line: bytes) -> None:
        if self._fd is None:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        while line:
            line = line[os.write(self._fd, line) :]


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
