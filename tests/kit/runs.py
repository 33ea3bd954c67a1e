"""`sm run` as a person uses it: typed into a shell, in a terminal of somebody's own tmux.

The shell shows each command's exit code in its prompt. What runs there has an environment and
homes of its own; whatever is still alive at the end is seen by its environment.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sm.api import starting
from sm.api.runs import ENDED_FILE, PAST_FILE, RUN_FILE
from sm.core.handoff import LESSON
from sm.settings.home import Home
from tests.kit.claude import BOX
from tests.kit.sm import SM, json_lines
from tests.kit.tmux import Tmux, private_tmux, reap, wait_until

PROMPT = "[exit $? \\#] "
"""The exit code of the last command, and the number of the next."""
_PROMPT = re.compile(r"\[exit (\d+) (\d+)\]")
MARK = "SM_TEST_DESK"
"""The variable by which what runs at a desk is known."""
CONFIG = """
[context_monitor]
early_threshold = 60_000
warning_threshold = 80_000
critical_threshold = 100_000
[handoff]
deadline = "0s"
cooldown = "0s"
max_restarts = 1000
"""
NOTED = (RUN_FILE, ENDED_FILE, PAST_FILE)
FULL = 110_000
"""Tokens at which these rules hand over."""
REQUEST = 'Do the steps in order, one command for each. It\'s «urgent»: a "quoted" $PATH, 100 %.'


class Desk:
    """One person's home, project and terminals."""

    def __init__(
        self, folder: Path, tmux: Tmux, *, cwd: Path | None = None, config: str = CONFIG
    ) -> None:
        self.folder = folder
        self.tmux = tmux
        self.person = folder / "person"
        self.cwd = cwd or folder / "project"
        self.base = folder / "sm"
        self.runtime = folder / "r"
        for made in (self.person, self.cwd, self.base, self.runtime):
            made.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.home = Home(
            self.base, self.base / "config.toml", self.runtime / "sm", is_default=False
        )
        self.home.config.write_text(config)
        self.environment = {
            "PATH": f"{SM.parent}:{os.environ['PATH']}",
            "HOME": str(self.person),
            "SM_HOME": str(self.base),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PS1": PROMPT,
            MARK: str(folder),
        }

    def sm(self, *arguments: str) -> str:
        """A command in the person's own home, as from any other terminal."""
        done = subprocess.run(
            [str(SM), *arguments],
            env=self.environment,
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"sm {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.sm(*arguments, "--json"))

    def shell(self, *, size: tuple[int, int] = (120, 40), **variables: str) -> "Shell":
        """A terminal with a shell in it, up to its prompt."""
        pane = self.tmux.start(
            ["bash", "--norc", "--noprofile", "-i"],
            environment={**self.environment, **variables},
            cwd=self.cwd,
            size=size,
        )
        shell = Shell(self, pane)
        wait_until(shell.has_prompt, seen=shell.screen)
        return shell

    def run(self, *arguments: str, **options: Any) -> "Run":
        """``sm run ARGUMENTS`` in a terminal of its own; returns when its agent is started."""
        name = f"run{len(self.runs())}-{time.monotonic_ns() % 1_000_000}"
        run = Run(shell=self.shell(**options), name=name)
        run.shell.type(line("sm", "run", "--name", name, *arguments))
        wait_until(lambda: run.is_noted() or run.shell.has_ended(), 30, seen=run.shell.screen)
        return run

    def runs(self) -> list[dict[str, Any]]:
        """What is known of every run of this home, whether it goes on or is over."""
        folder = self.home.state / "runs"
        files = sorted(file for name in NOTED for file in folder.glob(f"*/{name}"))
        found = []
        for file in files:
            # One that ends in this moment is there under its other name.
            with contextlib.suppress(FileNotFoundError):
                found.append(json.loads(file.read_text()))
        return found

    def leftovers(self) -> list[str]:
        """Command lines of processes that run in this desk's name; shells at the desk aside."""
        mark = f"{MARK}={self.folder}".encode()
        return [words for pid, words in _everyone(mark) if not words.startswith("bash --norc")]

    def expect_nothing_left(self, within: float = 3.0) -> None:
        """No process, no socket, and of a run that is over no file with anybody's environment.

        One whose agent crashed is not over: it may be brought back.
        """
        wait_until(lambda: not self.leftovers(), within, seen=self.leftovers)
        assert list(self.runtime.rglob("*.sock")) == []
        folders = (self.home.state / "runs").glob("*")
        for over in (folder / name for folder in folders for name in (ENDED_FILE, PAST_FILE)):
            if not over.exists():
                continue
            assert list(over.parent.glob("*/sessions/*/launch.json")) == []
            assert list(over.parent.glob("*/sessions/*/*-settings.json")) == []

    def close(self) -> None:
        """End whatever still runs in this desk's name, by its pid, and a daemon if there is one."""
        with contextlib.suppress(Exception):
            starting.stop(self.home)
        reap(self.home.tmux_socket("sm"))
        mark = f"{MARK}={self.folder}".encode()
        for pid, _ in _everyone(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # Its folder is removed next: nobody may still be writing there.
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not _everyone(mark), 3)


@dataclass(slots=True)
class Shell:
    """A terminal somebody sits at."""

    desk: Desk
    pane: str

    def type(self, text: str) -> None:
        """A line, with Enter."""
        self.keys(text)
        self.press("Enter")

    def submit(self, text: str) -> None:
        """To Claude Code: Enter once the text stands in its box, as together they are a paste."""
        self.keys(text)
        wait_until(lambda: f"{BOX}{text}" in self.screen(), seen=self.screen)
        self.press("Enter")

    def keys(self, text: str) -> None:
        self.desk.tmux.run("send-keys", "-t", self.pane, "-l", "--", text)

    def press(self, *keys: str) -> None:
        self.desk.tmux.run("send-keys", "-t", self.pane, *keys)

    def screen(self) -> str:
        return self.desk.tmux.screen(self.pane)

    def history(self) -> str:
        """All that was shown, wrapped lines joined."""
        return self.desk.tmux.run("capture-pane", "-p", "-J", "-S", "-", "-t", self.pane)

    def resize(self, columns: int, rows: int) -> None:
        self.desk.tmux.run("resize-window", "-t", self.pane, "-x", str(columns), "-y", str(rows))

    @property
    def _told(self) -> tuple[int, int] | None:
        """The last command's exit code and the next one's number, if it waits for a command.

        Where the cursor is: what a killed program has drawn may stand below it.
        """
        shown = self.desk.tmux.run(
            "capture-pane", "-p", "-t", self.pane, ";",
            "display-message", "-p", "-t", self.pane, "#{cursor_y}",
        ).splitlines()  # fmt: skip
        row = int(shown.pop())
        found = _PROMPT.search(shown[row]) if row < len(shown) else None
        return (int(found[1]), int(found[2])) if found else None

    def has_prompt(self) -> bool:
        """It waits for a command."""
        return self._told is not None

    def has_ended(self) -> bool:
        """A command was typed, and is over."""
        told = self._told
        return told is not None and told[1] > 1

    @property
    def code(self) -> int:
        told = self._told
        assert told is not None, self.screen()
        return told[0]

    def attributes(self) -> str:
        """The terminal's settings, as the shell's stty tells them."""
        tty = self.desk.tmux.run("display-message", "-p", "-t", self.pane, "#{pane_tty}")
        done = subprocess.run(["stty", "-g", "-F", tty], capture_output=True, text=True, check=True)
        return done.stdout.strip()


@dataclass(slots=True)
class Run:
    """One ``sm run``."""

    shell: Shell
    name: str

    @property
    def desk(self) -> Desk:
        return self.shell.desk

    @property
    def file(self) -> dict[str, Any]:
        return next(run for run in self.desk.runs() if run["name"] == self.name)

    def is_noted(self) -> bool:
        """Whether its agent was started: then its terminal's size is kept."""
        is_known = any(run["name"] == self.name for run in self.desk.runs())
        return is_known and any(self.folder.glob("*/sessions/*/sizes.jsonl"))

    @property
    def folder(self) -> Path:
        """The run's own home."""
        return self.desk.home.state / "runs" / str(self.file["id"])

    @property
    def session(self) -> Path:
        """The folder of its only session."""
        return next(self.folder.glob("*/sessions/*"))

    @property
    def pid(self) -> int:
        """The wrapper's."""
        return int(self.file["pid"])

    @property
    def agent(self) -> int | None:
        """The agent's process, while there is one."""
        for leader in children(self.pid):
            for agent in children(leader):
                return agent
        return None

    def start(self, *arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
        """A command of ``sm`` that asks the run itself."""
        return subprocess.run(
            [str(SM), *arguments],
            env={**self.desk.environment, "SM_HOME": str(self.folder)},
            cwd=self.desk.cwd,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **options,
        )

    def sm(self, *arguments: str, **options: Any) -> str:
        done = self.start(*arguments, **options)
        assert done.returncode == 0, f"sm {' '.join(arguments)}: {done.stderr}{done.stdout}"
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.sm(*arguments, "--json"))

    def show(self) -> dict[str, Any]:
        return dict(self.json("show", self.name))

    def handoffs(self) -> list[dict[str, Any]]:
        return list(self.json("handoffs", self.name))

    def ended(self, timeout: float = 20) -> int:
        """Wait for the shell's prompt; the exit code it shows."""
        wait_until(self.shell.has_ended, timeout, seen=self.report)
        return self.shell.code

    def report(self) -> str:
        told = self.start("explain", self.name) if self.is_noted() else None
        words = f"{told.stdout}{told.stderr}" if told else "not begun"
        return f"{words}\n{self.shell.screen()}\n{self.log()}"

    def log(self) -> str:
        logs = list((self.folder).glob("*/logs/*.log")) if self.is_noted() else []
        return "\n".join(log.read_text()[-2000:] for log in logs)

    def wait_idle(self, timeout: float = 30) -> None:
        self.sm("wait", self.name, "--timeout", str(int(timeout)))


@dataclass(slots=True, kw_only=True)
class Task:
    """Numbered steps for the demo agent, some to each context; what it does is kept in files.

    The agent's script begins anew with each context: a step that is done puts the script that
    begins with the next one in its place.
    """

    folder: Path
    steps: int
    fills: tuple[int, ...] = (4,)
    """After how many steps a context is full, context after context, over and over."""
    secret: str = "heron"
    pause: float = 0.0
    last: str = "%exit"
    request: str = field(default="")

    def __post_init__(self) -> None:
        self.request = self.request or f"{REQUEST} The word is {self.secret}."
        scripts = self.folder / "scripts"
        scripts.mkdir(parents=True)
        fills = list(self.fills)
        for first in range(1, self.steps + 2):
            (scripts / str(first)).write_text(self._script(first, fills[first % len(fills)]))
        (self.folder / "script").write_text((scripts / "1").read_text())
        step = self.folder / "step"
        here = quoted(str(self.folder))
        step.write_text(
            f"#!/bin/sh\ncd {here} || exit 1\n"
            # One write, and the script's change beside it: what is between them is in flight.
            'echo "step $1" >>steps\n'
            'cp "scripts/$(($1 + 1))" ".script.$$" && mv ".script.$$" script\n'
        )
        step.chmod(0o700)

    def _script(self, first: int, count: int) -> str:
        done = range(first, min(first + count, self.steps + 1))
        lines = []
        for number in done:
            # A context that is full before its first step would be taken for one that does none.
            is_full = number == done[-1] < self.steps and number > first
            lines += [f"%usage {FULL if is_full else 20_000}", f"%work {self.pause}"]
            lines += [f"%tool {quoted(str(self.folder / 'step'))} {number} {self.secret}"]
        return "\n".join([*lines, self.last if first + count > self.steps else f"%usage {FULL}"])

    @property
    def arguments(self) -> list[str]:
        """For the demo agent."""
        own = ["--script", str(self.folder / "script"), "--received", str(self.received)]
        return [*own, "--delay", "0", "--record-delay", "0", self.request]

    @property
    def received(self) -> Path:
        return self.folder / "received"

    @property
    def done(self) -> list[str]:
        file = self.folder / "steps"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def wanted(self) -> list[str]:
        return [f"step {number}" for number in range(1, self.steps + 1)]

    def contexts(self) -> list[list[dict[str, Any]]]:
        """Everything the model was given, context by context."""
        return contexts(self.received)


def contexts(received: Path) -> list[list[dict[str, Any]]]:
    """What a demo agent's model was given, context by context."""
    found: list[list[dict[str, Any]]] = []
    for given in json_lines(received):
        if given["via"].startswith("hook SessionStart"):
            found.append([])
        if found:
            found[-1].append(given)
    return found


def told(context: list[dict[str, Any]]) -> str:
    """All of one context's texts, but not what each is taught."""
    return "\n".join(given["prompt"] for given in context).replace(LESSON, "")


def line(*words: str) -> str:
    """A command line for the shell."""
    return " ".join(map(quoted, words))


def quoted(word: str) -> str:
    """One word for bash or sh; a newline is written so that it submits nothing."""
    if word and all(c.isalnum() or c in "-_./=:" for c in word):
        return word
    if "\n" not in word:
        return "'" + word.replace("'", "'\\''") + "'"
    escaped = word.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"$'{escaped}'"


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def children(pid: int) -> list[int]:
    """The processes it started that still run."""
    try:
        return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _everyone(mark: bytes) -> list[tuple[int, str]]:
    """Processes that have this in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                if words:
                    found.append((int(folder.name), words.decode(errors="replace").strip()))
    return found


@contextlib.contextmanager
def run_desk(*, name: str = "", **options: Any) -> Iterator[Desk]:
    """A desk with a tmux server of its own; gone with everything at the end."""
    folder = Path(tempfile.mkdtemp(prefix="smr-"))
    place = folder / name if name else folder
    place.mkdir(exist_ok=True)
    try:
        with private_tmux() as tmux:
            desk = Desk(place, tmux, **options)
            try:
                yield desk
            finally:
                desk.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
