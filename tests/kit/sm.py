"""A home of its own for each test, driven the way a person drives sm: by its command line."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from sm.adapters.system import ProcessTable
from sm.api import starting
from sm.api.client import Client
from sm.core.handoff import LESSON
from sm.settings.home import Home
from tests.kit.tmux import NeverHappenedError, wait_until

SM = Path(sys.executable).with_name("sm")


def json_lines(path: Path) -> list[Any]:
    """What stands in a file of JSON lines; nothing if it is not there yet."""
    # A line of JSON may hold what ends a line elsewhere, such as U+2028.
    lines = path.read_text().split("\n") if path.exists() else []
    return [json.loads(line) for line in lines if line]


class Sm:
    """One SM_HOME with its daemon and its tmux server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = folder / "home"
        self.work = folder / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.home = Home(self.base, self.base / "config.toml", folder / "sm", is_default=False)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{SM.parent}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "SM_HOME": str(self.base),
            "XDG_RUNTIME_DIR": str(self.folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }

    def start(self, *arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
        """Run a command and say how it went."""
        given: Mapping[str, str] = options.pop("environment", {})
        return subprocess.run(
            [str(SM), *arguments],
            env={**self.environment, **given},
            cwd=options.pop("cwd", self.work),
            capture_output=True,
            text=True,
            timeout=options.pop("timeout", 90),
            check=False,
            **options,
        )

    def run(self, *arguments: str, **options: Any) -> str:
        """Run a command that must succeed; what it printed."""
        done = self.start(*arguments, **options)
        assert done.returncode == 0, f"sm {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    def json(self, *arguments: str, **options: Any) -> Any:
        return json.loads(self.run(*arguments, "--json", **options))

    def new(self, name: str, *arguments: str, agent: str = "demo", **options: Any) -> str:
        """Start a session and wait for its prompt; its id."""
        command = ["new", name, "--agent", agent]
        session = self.run(*command, *(["--", *arguments] if arguments else []), **options).strip()
        if agent in ("demo", "claude"):
            self.run("wait", name, "--timeout", "60")
        return session

    def received(self, name: str) -> list[str]:
        """Every prompt the demo agent's model got; not what each new context is taught."""
        told = [given["prompt"] for given in json_lines(self.received_file(name))]
        return [prompt for prompt in told if prompt != LESSON]

    def received_file(self, name: str) -> Path:
        return self.folder / f"{name}.received.jsonl"

    def new_demo(self, name: str, *arguments: str, **options: Any) -> str:
        """A demo agent that writes down what its model gets."""
        received = str(self.received_file(name))
        return self.new(name, "--received", received, "--delay", "0", *arguments, **options)

    def client(self) -> Client:
        return Client(self.home, start=False)

    def health(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self.client().get("/health"))

    def messages(self, *arguments: str) -> list[dict[str, Any]]:
        return cast("list[dict[str, Any]]", self.json("messages", "--limit", "10000", *arguments))

    def state(self, name: str) -> str:
        return str(self.json("show", name)["state"])

    def wait_state(self, name: str, *states: str, timeout: float = 15) -> None:
        wait_until(lambda: self.state(name) in states, timeout=timeout)

    def wait_recorded(self, name: str, words: str, timeout: float = 20) -> None:
        """An agent keeps its record a moment later than it says so."""
        record = Path(self.json("show", name)["context"]["transcript"])
        wait_until(lambda: record.exists() and words.encode() in record.read_bytes(), timeout)

    def kill_worker(self) -> None:
        """What kill -9 does to the daemon."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.health()["worker"], signal.SIGKILL)

    def commits(self) -> int:
        """How many transactions a faulty daemon has counted in this home."""
        counter = self.home.state / "commits"
        return len(counter.read_text().splitlines()) if counter.exists() else 0

    def plan_kill(self, *, at: int, when: str) -> None:
        """Have a faulty daemon killed at a commit; it reads the plan at every commit."""
        plan = self.home.state / "plan.json"
        plan.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: the daemon may read it in this very moment.
        draft = plan.with_suffix(".draft")
        draft.write_text(json.dumps({"at": at, "when": when}))
        draft.replace(plan)

    def tmux(self, *arguments: str, stdin: str | None = None) -> str:
        socket = self.health()["tmux"]
        done = subprocess.run(
            ["tmux", "-u", "-S", socket, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def pane(self, name: str) -> str:
        return str(self.json("show", name)["tmux"]["pane"])

    def screen(self, name: str) -> str:
        return self.tmux("capture-pane", "-p", "-t", self.pane(name))

    def close(self) -> None:
        """End the daemon and the tmux server, and let its agents write their last lines."""
        with contextlib.suppress(Exception):
            starting.stop(self.home)
        name = self.home.tmux_socket("sm")
        folder = Path(os.environ.get("TMUX_TMPDIR", "/tmp")) / f"tmux-{os.getuid()}"
        tmux = ("tmux", "-L", name)
        listed = subprocess.run(
            [*tmux, "list-panes", "-aF", "#{pane_pid}"], capture_output=True, check=False
        )
        table = ProcessTable()
        living = [one for pid in listed.stdout.split() for one in table.tree(int(pid))]
        # tmux would wait for those of killed daemons.
        clients = subprocess.run(
            [*tmux, "list-clients", "-F", "#{client_pid}"], capture_output=True, check=False
        )
        for pid in clients.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        subprocess.run([*tmux, "kill-server"], capture_output=True, check=False)
        with contextlib.suppress(NeverHappenedError):
            wait_until(lambda: all(table.started(p.pid) != p.started for p in living), 3)
        (folder / name).unlink(missing_ok=True)


@contextlib.contextmanager
def sm_home() -> Iterator[Sm]:
    """A fresh home, gone with everything in it at the end. Short paths: sockets have a limit."""
    folder = Path(tempfile.mkdtemp(prefix="smt-"))
    sm = Sm(folder)
    try:
        yield sm
    finally:
        sm.close()
        shutil.rmtree(folder, ignore_errors=True)
