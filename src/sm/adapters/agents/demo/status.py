"""What the agent says of itself in ``sessions/<pid>.json``. A kill -9 leaves the file behind."""

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

from sm.adapters.agents.demo import private


class Status:
    def __init__(self, config: Path, *, name: str, cwd: str) -> None:
        self._path = config / "sessions" / f"{os.getpid()}.json"
        self._told: tuple[str, str, str | None] | None = None
        self._fixed: dict[str, Any] = {
            "pid": os.getpid(),
            "cwd": cwd,
            "startedAt": _now_ms(),
            "procStart": _process_start(),
            "version": "demo",
            "peerProtocol": 1,
            "kind": "interactive",
            "entrypoint": "cli",
            "name": name,
        }

    def tell(self, session_id: str, status: str, waiting_for: str | None = None) -> None:
        """idle, busy, shell or waiting; written only when it changes."""
        if (session_id, status, waiting_for) == self._told:
            return
        changed = {"status": status, "updatedAt": _now_ms(), "statusUpdatedAt": _now_ms()}
        waiting = {"waitingFor": waiting_for} if waiting_for else {}
        # A disk that is full is no reason to die; the next change is told again.
        with contextlib.suppress(OSError):
            self._write({"sessionId": session_id, **self._fixed, **changed, **waiting})
            self._told = (session_id, status, waiting_for)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)

    def _write(self, record: dict[str, Any]) -> None:
        private.make_folder(self._path.parent)
        draft = self._path.with_suffix(".tmp")
        private.write(draft, json.dumps(record))
        draft.replace(self._path)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _process_start() -> str:
    """Field 22 of the stat file, where the system has one: tells a reused pid apart."""
    try:
        stat = Path("/proc/self/stat").read_text("utf-8")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
