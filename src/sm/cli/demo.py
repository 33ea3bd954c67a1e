"""The whole story in under a minute with the built-in agent: no account, no network.

Two agents talk, the daemon is killed with -9 in the middle, a dialog is left alone, a context fills
and its agent goes on in a fresh one, the tmux server is killed with every agent in it. Nothing is
lost and nothing arrives twice. Everything happens in a folder of its own that is gone at the end.
"""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import cast

from sm.api import starting
from sm.api.client import Client
from sm.api.errors import RefusedError, StartError
from sm.api.types import HandoffView, Health, MessageView, SessionDetail
from sm.cli.output import print_json, tmux_program
from sm.cli.stage import Stage
from sm.settings.home import Home
from sm.settings.variables import SESSION_ID

EXAMPLE = "sm demo"
BURST = 8
AGENTS = ("ada", "bob")
FULL = 104_312
HANDS_OFF = """%tool printf '# Goal\\nShip the parser.\\n# Next actions\\nTest it.\\n' > handoff.md
%tool sm handoff handoff.md
%say I have written everything down.
---
%say I have read the document. Next: test the parser.
"""
"""What cleo's model does when it is warned, and in its next context."""
LOOK_AT_IT = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="only the figures, as JSON")
    parser.add_argument("--keep", action="store_true", help="keep the folder, to look around")


def run(args: argparse.Namespace) -> int:
    tmux_program()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    began = time.monotonic()
    with _own_home(keep=args.keep) as home, Stage(quiet=args.json) as stage:
        story = Story(home, stage)
        story.tell()
        figures = story.figures(time.monotonic() - began)
    if args.json:
        print_json(figures)
    else:
        stage.summary(figures, kept=str(home.base) if args.keep else None)
    return 0 if figures["lost"] == figures["doubled"] == 0 else 1


def _leave(number: int, _frame: FrameType | None) -> None:
    """A closed terminal ends the story, and its agents with it."""
    sys.exit(128 + number)


@contextlib.contextmanager
def _own_home(*, keep: bool) -> Iterator[Home]:
    """A home for this story alone; daemon, agents and files are gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="sm-demo-"))
    before = {name: os.environ.get(name) for name in ("SM_HOME", SESSION_ID)}
    os.environ["SM_HOME"] = str(folder)
    os.environ.pop(SESSION_ID, None)
    home = Home.from_environment()
    try:
        yield home
    finally:
        if not keep:
            _clean_up(home, folder)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _clean_up(home: Home, folder: Path) -> None:
    # Asked to leave twice, it would leave half of it behind.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # The daemon first: it would start its tmux server again.
    with _without_daemon(home):
        _end_tmux(home.tmux_socket("sm"))
        # The last hooks of the ended agents may still write there.
        deadline = time.monotonic() + 5.0
        while (late := _at_home(folder)) and time.monotonic() < deadline:
            for pid in late:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGTERM)
            time.sleep(0.05)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _without_daemon(home: Home) -> Iterator[None]:
    """It ends, and whatever an agent is just about to send begins no other."""
    lock, is_ours = None, False
    deadline = time.monotonic() + 5.0
    with contextlib.suppress(StartError, OSError):
        # One that is just beginning has the lock, and cannot be told yet to end.
        while not is_ours and time.monotonic() < deadline:
            starting.stop(home)
            lock = lock or os.open(home.lock, os.O_RDWR | os.O_CLOEXEC)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_ours = True
            time.sleep(0.01)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _at_home(folder: Path) -> list[int]:
    """Processes that were started with this home, where the system tells."""
    mark, found = os.fsencode(f"SM_HOME={folder}"), []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in process.joinpath("environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def _end_tmux(name: str) -> None:
    """End the story's tmux server, and return when it is gone with all that ran in it."""
    told = _tmux(name, "display-message", "-p", "#{pid} #{socket_path}").split(" ", 1)
    for client in _tmux(name, "list-clients", "-F", "#{client_pid} #{client_control_mode}").split(
        "\n"
    ):
        # Of a killed daemon: tmux would wait for it.
        pid, _, is_control = client.partition(" ")
        if is_control == "1":
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
    _tmux(name, "kill-server")
    if len(told) != 2 or not told[0].isdigit():
        return
    deadline = time.monotonic() + 5.0
    while Path("/proc", told[0]).exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    Path(told[1]).unlink(missing_ok=True)


def _tmux(name: str, *command: str) -> str:
    done = subprocess.run(
        ["tmux", "-L", name, *command], capture_output=True, text=True, check=False
    )
    return done.stdout.rstrip("\n")


class Story:
    """The acts, in order. What the agents' models really got is counted at the end."""

    def __init__(self, home: Home, stage: Stage) -> None:
        self._home = home
        self._client = Client(home)
        self._stage = stage
        self._sent: dict[str, str] = {}
        self._kills = 0
        self._shown: tuple[str, ...] = AGENTS
        self._handoffs = self._recoveries = 0

    def tell(self) -> None:
        for words, act in (
            ("Starting two agents in tmux", self._start),
            ("They talk to each other with sm send", self._talk),
            (f"{2 * BURST} messages, and kill -9 of the daemon in the middle", self._kill),
            ("A dialog is open: the message waits, nothing is approved", self._dialog),
            (
                "A context fills: its agent is warned, hands off, goes on in a fresh one",
                self._hand_off,
            ),
            ("The tmux server is killed with every agent in it; sm recover --all", self._recover),
        ):
            with self._stage.act(words):
                act()

    # --- acts ----------------------------------------------------------------------------

    def _start(self) -> None:
        starting.ensure(self._home)
        for name in AGENTS:
            self._new(name)
        for name in AGENTS:
            self._idle(name)
            self._stage.line(f"{name} is up and idle, by its own report")

    def _new(self, name: str, *arguments: str) -> None:
        environment = dict(os.environ)
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment.get('PATH', '')}"
        received = str(self._received(name))
        body = {
            "name": name, "agent": "demo", "cwd": str(self._home.base),
            "arguments": ["--received", received, "--delay", "0.15", *arguments],
            "environment": environment,
        }  # fmt: skip
        self._client.call("POST", "/sessions", body)

    def _talk(self) -> None:
        self._send("ada", "%tool sm send bob 'Hello Bob, this is Ada.'\n%say I wrote to Bob.")
        for name in AGENTS:
            self._idle(name)
        self._stage.line("bob got ada's words; ada was told once that bob had stopped")

    def _kill(self) -> None:
        for number in range(1, BURST + 1):
            for name in AGENTS:
                self._send(name, f"Task {number}: check part {number} of the work.")
            if number in (BURST // 2, BURST):
                worker = cast("Health", self._client.get("/health"))["worker"]
                os.kill(worker, signal.SIGKILL)
                self._kills += 1
                self._stage.line(f"kill -9 {worker}: the daemon is dead, the agents go on")
        for name in AGENTS:
            self._idle(name)
        restarts = cast("Health", self._client.get("/health"))["restarts"]
        self._stage.line(f"restarted {restarts} times; every message has the agent's own receipt")

    def _dialog(self) -> None:
        self._send("bob", "%ask touch approved-by-a-person")
        self._until(lambda: self._show("bob")["state"] == "waiting")
        waiting = self._send("bob", "Are you there?")
        self._until(lambda: self._message(waiting)["waiting"] is not None)
        self._stage.line(f"it waits: {self._message(waiting)['waiting']}")
        self._linger(LOOK_AT_IT)
        if (self._home.base / "approved-by-a-person").exists():
            raise RefusedError("A dialog was approved by a message. This must never happen.", 409)
        where = self._show("bob")["tmux"]
        assert where is not None
        subprocess.run(
            ["tmux", "-S", where["socket"], "send-keys", "-t", where["pane"], "Escape"], check=True
        )
        self._idle("bob")
        self._stage.line("a person answered; the message arrived")

    def _hand_off(self) -> None:
        script = self._home.base / "cleo.script"
        script.write_text(HANDS_OFF)
        self._new("cleo", "--script", str(script))
        self._shown = ("cleo",)
        self._idle("cleo")
        self._send("cleo", f"Write the parser.\n%usage {FULL}\n%say It is half done.")
        self._until(lambda: self._warnings() != [])
        self._stage.line(f"cleo was told: {self._warnings()[0]['text'][:60]}…")
        self._until(lambda: any(h["state"] == "done" for h in self._passages()))
        (handoff,) = self._passages()
        self._handoffs += 1
        at = {step["step"]: step["at"] for step in handoff["steps"]}
        self._stage.line("cleo wrote handoff.md and ran sm handoff; its turn ended")
        took, number = at["accepted"] - at["ended"], self._show("cleo")["context"]["number"]
        self._stage.line(f"{took:.1f} s later context {number} had taken its first prompt")
        self._idle("cleo")
        self._linger(LOOK_AT_IT)

    def _recover(self) -> None:
        names = (*AGENTS, "cleo")
        self._shown = AGENTS
        self._send("ada", "%work 30")
        self._until(lambda: self._show("ada")["state"] == "working")
        where = self._show("ada")["tmux"]
        assert where is not None
        subprocess.run(["tmux", "-S", where["socket"], "kill-server"], check=True)
        self._until(lambda: all(self._show(n)["state"] == "crashed" for n in names))
        self._stage.line(f"{len(names)} agents are dead: {self._reason('ada')}")
        began = time.monotonic()
        self._send("bob", "You get this when you are back.")
        for name in names:
            self._client.call("POST", f"/sessions/{name}/recover", {"id": os.urandom(4).hex()})
        self._until(lambda: all(self._is_back(name) for name in names))
        self._recoveries += len(names)
        took = time.monotonic() - began
        self._stage.line(f"{len(names)} are back after {took:.1f} s, each with its own record")
        for name in names:
            self._idle(name)
        self._stage.line("ada was told that its turn was cut; bob got what had waited for it")
        self._linger(LOOK_AT_IT)

    def _reason(self, name: str) -> str:
        crash = self._show(name)["crash"]
        return crash["cause"] if crash is not None else "nobody knows why"

    def _is_back(self, name: str) -> bool:
        recoveries = self._show(name)["recoveries"]
        return bool(recoveries) and recoveries[-1]["state"] == "done"

    def _warnings(self) -> list[MessageView]:
        told = cast("list[MessageView]", self._client.get("/messages", session="cleo", limit=100))
        is_given = ("accepted", "done")
        return [m for m in told if "[sm context]" in m["text"] and m["state"] in is_given]

    def _passages(self) -> list[HandoffView]:
        return cast("list[HandoffView]", self._client.get("/handoffs", session="cleo"))

    # --- means ---------------------------------------------------------------------------

    def _received(self, name: str) -> Path:
        return self._home.base / f"{name}.received"

    def _send(self, to: str, text: str) -> str:
        body = {"text": text, "id": os.urandom(6).hex()}
        path = f"/sessions/{to}/messages"
        message = cast("MessageView", self._client.call("POST", path, body))
        self._sent[message["id"]] = to
        self._stage.tick(self._screens())
        return message["id"]

    def _message(self, message_id: str) -> MessageView:
        return cast("MessageView", self._client.get(f"/messages/{message_id}"))

    def _show(self, name: str) -> SessionDetail:
        return cast("SessionDetail", self._client.get(f"/sessions/{name}"))

    def _idle(self, name: str) -> None:
        """Until an agent is idle with nothing left to be told."""

        def is_done() -> bool:
            everything = cast(
                "list[MessageView]", self._client.get("/messages", session=name, limit=1000)
            )
            is_open = any(m["state"] in ("queued", "offered", "accepted") for m in everything)
            return self._show(name)["state"] == "idle" and not is_open

        self._until(is_done)

    def _until(self, done: Callable[[], bool], within: float = 40.0) -> None:
        deadline = time.monotonic() + within
        while not done():
            if time.monotonic() > deadline:
                raise RefusedError("The story got stuck. Look around with: sm demo --keep", 409)
            self._stage.tick(self._screens())
            time.sleep(0.1)
        self._stage.tick(self._screens())

    def _linger(self, seconds: float) -> None:
        """Give a person the time to look; nothing waits for it."""
        until = time.monotonic() + (seconds if self._stage.is_live else 0)
        while time.monotonic() < until:
            self._stage.tick(self._screens())
            time.sleep(0.1)

    def _screens(self) -> dict[str, list[str]]:
        screens = {}
        for name in self._shown if self._stage.is_live else ():
            with contextlib.suppress(RefusedError):
                screen = self._client.get(f"/sessions/{name}/screen")
                screens[name] = cast("dict[str, list[str]]", screen)["lines"]
        return screens

    def figures(self, seconds: float) -> dict[str, object]:
        """What was sent, held against what the agents' models got."""
        got: Counter[str] = Counter()
        for name in (*AGENTS, "cleo"):
            # Not by lines of text: a prompt may hold what ends one.
            for line in self._received(name).read_text().split("\n")[:-1]:
                prompt = str(json.loads(line)["prompt"])
                got.update(i for i in self._sent if prompt.startswith(f"[sm message {i} "))
        return {
            "messages": len(self._sent),
            "arrived_once": sum(got[i] == 1 for i in self._sent),
            "lost": sum(got[i] == 0 for i in self._sent),
            "doubled": sum(got[i] > 1 for i in self._sent),
            "daemon_kills": self._kills,
            "handoffs": self._handoffs,
            "recoveries": self._recoveries,
            "seconds": round(seconds, 1),
        }
