"""What `sm run` costs its agent: at the start of a context that is given a document, and per call.

A context's start is measured by the very hook an agent calls, while the run waits for its new
context to report: what is started in the place of the agent is one that never does. A call of a
tool is measured as `tool_cost` does, against the address of a run.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.kit.anthropic_api import anthropic_api
from tests.kit.claude import claude_home, find_claude, start_claude, submit
from tests.kit.runs import FULL, MARK, Desk, Run, run_desk
from tests.kit.tmux import wait_until

from bench.figures import Figure, at_most, median
from bench.floors import run_seconds
from bench.sizes import Sizes
from bench.tool_cost import figures, measured, of_tools, use

BARE = (sys.executable, "-I", "-S", "-c", "pass")
DOCUMENT, ESSENCE = 50_000, 7_500
"""Bytes of the whole, and of the part an agent takes at once."""
START_GOAL_MS = 60.0
_SILENT = "#!/bin/sh\nexec sleep 600\n"


def measure(sizes: Sizes) -> Iterator[Figure]:
    yield from _start(sizes)
    yield from _calls(sizes)


def _start(sizes: Sizes) -> Iterator[Figure]:
    with run_desk() as desk:
        run = _between_contexts(desk)
        hook = Hook(run)
        taken: dict[str, list[float]] = {"document": [], "nothing": [], "bare": []}
        for _ in range(sizes.cli_runs):
            # In turns: whoever else works on this machine slows all of them.
            taken["bare"].append(run_seconds(BARE, hook.environment))
            taken["nothing"].append(hook.call("Notification", "")[0])
            seconds, answer = hook.call("SessionStart", "HANDOFF LOADED")
            taken["document"].append(seconds)
        desk.close()
    document, nothing, bare = (
        1e3 * median(taken[name]) for name in ("document", "nothing", "bare")
    )
    yield Figure(
        what=f"SessionStart with a document of {DOCUMENT // 1000} KB, {len(answer):,} told, median",
        measured=document,
        unit="ms",
        floor=bare,
        floor_is="python -I -S -c pass",
        goal=at_most(START_GOAL_MS),
    )
    yield Figure(
        what="  the same hook with nothing to tell",
        measured=nothing,
        unit="ms",
        floor=bare,
        floor_is="python -I -S -c pass",
    )


def _between_contexts(desk: Desk) -> Run:
    """A run whose next context was begun and has not reported yet, with a large document."""
    script = desk.folder / "script"
    script.write_text(f"%usage {FULL}\n%tool true\n%work 1")
    run = desk.run("--", "demo", "--delay", "0", "--script", str(script), "Begin.")
    # The first agent has reported: from now on, none does.
    wait_until(lambda: run.show()["context"]["transcript"], 20, seen=run.report)
    launch = next(run.folder.glob("*/bin/launch"))
    launch.write_text(_SILENT)
    wait_until(
        lambda: _documents(run) and run.show()["context"]["number"] == 2, 20, seen=run.report
    )
    (document,) = _documents(run)
    document.write_text(_text(DOCUMENT))
    document.with_name("essence.md").write_text(_text(ESSENCE))
    return run


def _text(size: int) -> str:
    part = "## Part\n\nIt was so and so, and then it was otherwise.\n\n"
    return "# Goal\n\nGo on.\n\n" + part * (size // len(part))


def _documents(run: Run) -> list[Path]:
    return list(run.session.glob("handoffs/*/document.md"))


class Hook:
    """The hook a run's agent calls, called by us."""

    def __init__(self, run: Run) -> None:
        self._program = str(next(run.folder.glob("*/bin/hook")))
        self._context = str(run.show()["context"]["id"])
        self._cwd = str(run.desk.cwd)
        self.environment = {
            "PATH": os.environ["PATH"],
            "CLAUDE_SESSION_MANAGER_ID": run.session.name,
            "SM_SESSION_TOKEN": (run.session / "token").read_text().strip(),
        }

    def call(self, event: str, wanted: str) -> tuple[float, str]:
        """Seconds, and what it answered."""
        payload = {
            "hook_event_name": event,
            "session_id": self._context,
            "transcript_path": f"{self._cwd}/none.jsonl",
            "cwd": self._cwd,
            "source": "startup",
            "message": "Claude is waiting for your input",
            "notification_type": "idle_prompt",
        }
        began = time.perf_counter()
        done = subprocess.run(
            [self._program],
            input=json.dumps(payload),
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        taken = time.perf_counter() - began
        assert wanted in done.stdout if wanted else done.stdout == "", done.stdout[:300]
        return taken, done.stdout


def _calls(sizes: Sizes) -> Iterator[Figure]:
    if find_claude() is None:
        return
    with run_desk() as desk, anthropic_api() as api:
        run = desk.run("--", "demo", "--delay", "0")
        run.wait_idle()
        token = (run.session / "token").read_text().strip()
        hooks = of_tools((run.session / "demo-settings.json").read_bytes(), token)
        home = claude_home(desk.folder / "bare", api.url)
        # Ended with the desk, though it is no run.
        home = replace(home, environment={**home.environment, MARK: str(desk.folder)})
        use(home, {})
        pane = start_claude(desk.tmux, home)
        rounds = measured(api, home, hooks, lambda text: submit(desk.tmux, pane, text), sizes)
        desk.close()
    yield from figures(rounds, "the hook of sm run")
