"""The demo agent in a real tmux: started, typed to, looked at, and waited for."""

import json
import os
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.adapters.agents.views import view_of

from sm.adapters.agents.claude.screen import read_screen
from sm.adapters.agents.claude.settings import EVENTS
from sm.core.terminal import Screen, Sign, View

T = TypeVar("T")
DEADLINE = 15.0
_FORMAT = "#{cursor_x}\t#{cursor_y}\t#{pane_title}"


class Server:
    """A private tmux server."""

    def __init__(self) -> None:
        self._name = f"sm-demo-{os.getpid()}-{secrets.token_hex(4)}"

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        command = ["tmux", "-L", self._name, "-f", "/dev/null", *arguments]
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, check=True, timeout=20
        )
        return done.stdout.removesuffix("\n")

    def start(self) -> None:
        self("new-session", "-d", "-s", "keep", "exec sleep 600")
        self("set-option", "-g", "remain-on-exit", "on")

    def stop(self) -> None:
        socket = Path(self("display-message", "-p", "#{socket_path}"))
        self("kill-server")
        # tmux leaves the file behind.
        socket.unlink(missing_ok=True)


class Demo:
    """One demo agent, its folder and everything it leaves there."""

    def __init__(self, tmux: Server, folder: Path) -> None:
        self._tmux = tmux
        self.folder = folder
        self.config = folder / "config"
        self._received = folder / "received.jsonl"
        self._hooks = folder / "hooks.jsonl"
        self._replies = folder / "replies"
        self._replies.mkdir()
        self._pid = folder / "pid"
        self._exit = folder / "exit"
        self.status_line = ""
        self.posted: dict[str, str] = {}
        self.inbox = folder / "inbox"
        self.inbox.mkdir()
        self.pane = ""

    def start(
        self, *options: str, size: tuple[int, int] = (80, 24), leader: bool = False
    ) -> "Demo":
        """Start it and wait for its prompt."""
        self.launch(*options, size=size, leader=leader)
        self.until(lambda: self.screen().sign is Sign.PROMPT)
        return self

    def launch(self, *options: str, size: tuple[int, int] = (80, 24), leader: bool = False) -> None:
        """``leader``: it leads its terminal's session, as under sm; its exit code is not seen."""
        settings = self.folder / "settings.json"
        given: dict[str, Any] = {"hooks": self._hook_settings()}
        if self.status_line:
            given["statusLine"] = {"type": "command", "command": self.status_line}
        settings.write_text(json.dumps(given))
        fixed = ["--settings", str(settings), "--received", str(self._received)]
        fixed += ["--record-delay", "0"]
        argv = [sys.executable, "-I", "-m", "sm.adapters.agents.demo", *fixed, *options]
        place = ["-x", str(size[0]), "-y", str(size[1]), "-c", str(self.folder)]
        variable = ["-e", f"SM_DEMO_CONFIG={self.config}"]
        # tmux 3.3a does not always learn how a process ended; a shell does.
        self._exit.unlink(missing_ok=True)
        agent = f"echo $$ > {self._pid}; exec {shlex.join(argv)}"
        ended = f"echo $? > {self._exit}.new; mv {self._exit}.new {self._exit}"
        line = agent if leader else f"sh -c {shlex.quote(agent)}; {ended}"
        show = ["-P", "-F", "#{pane_id}"]
        self.pane = self._tmux("new-session", "-d", *show, *place, *variable, line)

    def _hook_settings(self) -> dict[str, Any]:
        """Every event is noted; a file ``replies/EVENT`` is what its hook runs and prints."""
        note = f"cat >> {self._hooks}; echo >> {self._hooks}"
        hooks: dict[str, Any] = {
            event: [{"hooks": [{"type": "command", "command": f"{note}; {self._answer(event)}"}]}]
            for event in (*EVENTS, "PreToolUse", "PostToolBatch")
        }
        for event, url in self.posted.items():
            hooks[event][0]["hooks"].append({"type": "http", "url": url})
        bell = {"type": "command", "command": f"{note}; {self._answer('FileChanged')}"}
        return {**hooks, "FileChanged": [{"hooks": [{**bell, "asyncRewake": True}]}]}

    def watch(self) -> None:
        """Let it watch its inbox: each note there is read once and wakes the agent."""
        output = {"hookEventName": "SessionStart", "watchPaths": [str(self.inbox)]}
        self.reply("SessionStart", f"echo '{json.dumps({'hookSpecificOutput': output})}'")
        taken = self.folder / "taken"
        self.reply(
            "FileChanged",
            f"for note in {self.inbox}/*; do mv $note {taken} && cat {taken} >&2 && exit 2; done",
        )

    def ring(self, text: str) -> None:
        """Leave a note, whole."""
        draft = self.folder / "note"
        draft.write_text(text)
        draft.rename(self.inbox / "note")

    def _answer(self, event: str) -> str:
        script = self._replies / event
        return f"if [ -f {script} ]; then . {script}; fi"

    def reply(self, event: str, script: str) -> None:
        """Let the hook of this event run a shell script; what it prints is its reply."""
        (self._replies / event).write_text(script)

    # --- doing -----------------------------------------------------------------------------

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-t", self.pane, "-l", text)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", self.pane, *keys)

    def submit(self, text: str) -> None:
        self.type(text)
        self.press("Enter")

    def paste(self, text: str, *, keys: str = "") -> None:
        """A bracketed paste; ``keys`` follow in the same tmux command."""
        self._tmux("load-buffer", "-b", "demo", "-", stdin=text)
        then = [";", "send-keys", "-t", self.pane, keys] if keys else []
        self._tmux("paste-buffer", "-p", "-d", "-b", "demo", "-t", self.pane, *then)

    def prompt(self, text: str) -> None:
        """Paste a prompt of any form, wait until it is in the box, and submit it."""
        self.paste(text)
        self.until(lambda: self.screen().draft)
        self.press("Enter")

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-t", self.pane, "-x", str(columns), "-y", str(rows))

    def hang_up(self) -> None:
        """Take its terminal away."""
        self._tmux("kill-session", "-t", self.pane)
        self.pane = ""

    # --- seeing ----------------------------------------------------------------------------

    def view(self) -> View:
        fields = self._tmux("display-message", "-p", "-t", self.pane, _FORMAT).split("\t", 2)
        lines = self._tmux("capture-pane", "-p", "-t", self.pane).split("\n")
        return view_of(lines, cursor=(int(fields[0]), int(fields[1])), title=fields[2])

    def screen(self) -> Screen:
        return read_screen(self.view())

    def text(self) -> str:
        """The scrollback and the screen."""
        if not self.pane:
            return ""
        return self._tmux("capture-pane", "-p", "-S", "-", "-t", self.pane)

    def pid(self) -> int:
        return int(self._pid.read_text())

    def is_dead(self) -> bool:
        return self._exit.exists()

    def received(self) -> list[str]:
        """What the model saw."""
        return [note["prompt"] for note in _records(self._received)]

    def given(self) -> list[str]:
        """The same in the client's words, as the model reads it."""
        return [note["given"] for note in _records(self._received)]

    def routes(self) -> list[str]:
        return [note["via"] for note in _records(self._received)]

    def hooks(self) -> list[dict[str, Any]]:
        return _records(self._hooks)

    def events(self) -> list[str]:
        return [hook["hook_event_name"] for hook in self.hooks()]

    def transcript(self) -> Path:
        """The one transcript there is, or the newest."""
        return max(self.config.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)

    def records(self) -> list[dict[str, Any]]:
        return _records(self.transcript())

    def status(self) -> dict[str, Any]:
        found = list(self.config.glob("sessions/*.json"))
        return dict(json.loads(found[0].read_text())) if found else {}

    # --- waiting ---------------------------------------------------------------------------

    def until(self, seen: Callable[[], T]) -> T:
        """Look until there is something to see; the deadline fails with the screen."""
        deadline = time.monotonic() + DEADLINE
        while not (found := seen()):
            assert time.monotonic() < deadline, "\n".join([self.text(), *self.events()])
            time.sleep(0.01)
        return found

    def until_event(self, name: str, count: int = 1) -> None:
        self.until(lambda: self.events().count(name) >= count)

    def until_sign(self, sign: Sign) -> None:
        self.until(lambda: self.screen().sign is sign)

    def until_shown(self, text: str) -> None:
        self.until(lambda: text in self.text())

    def until_dead(self) -> int:
        """Its exit code; for a signal 128 and its number, as a shell says it."""
        self.until(self.is_dead)
        return int(self._exit.read_text())

    def settled(self) -> None:
        """The prompt is there and the agent says that it is idle."""
        self.until(lambda: self.screen().sign is Sign.PROMPT and self.status()["status"] == "idle")


def _records(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    # The last line may be half written.
    whole = path.read_text("utf-8").split("\n")[:-1]
    return [json.loads(line) for line in whole if line]
