"""The status line: a command from the settings, told how things stand, whose output is shown.

Run a moment after each reply of the model, /clear and /compact; what comes quickly one after the
other is one run. Not while typing or idle.
"""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.transcript import MODEL, VERSION

AFTER = 0.3
_SECONDS = 5.0
_LARGE = 200_000


class Footer:
    def __init__(
        self, talk: Conversation, shown: Callable[[str], None], *, name: str, after: float = AFTER
    ) -> None:
        self._talk = talk
        self._shown = shown
        self._name = name
        self._after = after
        self._started = time.monotonic()
        self._wanted = threading.Event()

    def start(self) -> None:
        """Without a command in the settings there is nothing to run."""
        if self._talk.hooks.status_line is not None:
            threading.Thread(target=self._run, daemon=True).start()

    def refresh(self) -> None:
        self._wanted.set()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            time.sleep(self._after)
            self._wanted.clear()
            self._shown(self._said())

    def _said(self) -> str:
        from sm.adapters.agents.demo import shell

        told = json.dumps(self.told(), ensure_ascii=False)
        command = self._talk.hooks.status_line or ""
        try:
            ran = shell.run(command, cwd=self._talk.cwd, stdin=told, timeout=_SECONDS)
        except (OSError, shell.StoppedError):
            return ""
        return ran.stdout.strip("\n") if ran.code == 0 else ""

    def told(self) -> dict[str, Any]:
        """What the command gets on its standard input."""
        talk = self._talk
        window = talk.context.told()
        duration = int((time.monotonic() - self._started) * 1000)
        return {
            "session_id": talk.session_id,
            "transcript_path": str(talk.transcript.path),
            "cwd": talk.cwd,
            **({"prompt_id": talk.prompt_id} if talk.prompt_id else {}),
            "effort": {"level": "high"},
            "session_name": self._name,
            "model": {"id": MODEL, "display_name": "Demo"},
            "workspace": {"current_dir": talk.cwd, "project_dir": talk.cwd, "added_dirs": []},
            "version": VERSION,
            "output_style": {"name": "default"},
            "cost": {
                "total_cost_usd": 0,
                "total_duration_ms": duration,
                "total_api_duration_ms": 0,
                "total_lines_added": 0,
                "total_lines_removed": 0,
            },
            "context_window": window,
            "exceeds_200k_tokens": window["total_input_tokens"] > _LARGE,
            "fast_mode": False,
            "thinking": {"enabled": True},
        }
