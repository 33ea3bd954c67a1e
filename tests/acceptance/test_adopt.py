"""A Claude Code that a person started by hand becomes a session, and stays theirs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.kit.anthropic_api import AnthropicApi, Reply, ToolUse, anthropic_api, by_prompt
from tests.kit.claude import BOX, ClaudeHome, claude_home, require_claude, submit
from tests.kit.sm import Sm
from tests.kit.tmux import Tmux, private_tmux, socket_path, wait_until

pytestmark = pytest.mark.claude

SLOW = Reply(text="Slowly.", delay=0.3, pause=2.5)


@dataclass(slots=True)
class Person:
    """Somebody with a tmux of their own, a shell, and the client in it."""

    sm: Sm
    api: AnthropicApi
    tmux: Tmux
    home: ClaudeHome
    neighbour: str
    """Another pane of the same tmux session."""
    pane: str = ""
    sent: list[str] = field(default_factory=list)

    @property
    def socket(self) -> str:
        return str(socket_path(self.tmux.name))

    def adopt(self, *arguments: str) -> str:
        """As typed in a shell of their tmux: the server is known from the environment."""
        return self.sm.run("adopt", *arguments, environment={"TMUX": f"{self.socket},1,0"})

    def box(self) -> str:
        found = re.search(rf"^{BOX}(.*)$", self.tmux.screen(self.pane), re.MULTILINE)
        return found.group(1).strip() if found else ""

    def type(self, text: str) -> None:
        self.tmux.run("send-keys", "-t", self.pane, "-l", text)
        wait_until(lambda: text in self.box(), 10, seen=lambda: self.tmux.screen(self.pane))

    def send(self, text: str, *options: str) -> str:
        self.sent.append(text)
        return self.sm.run("send", "ada", text, *options).split()[0]

    def settle(self) -> None:
        def settled() -> bool:
            return all(m["state"] == "done" for m in self.messages())

        wait_until(settled, 60, seen=self.report)

    def messages(self) -> list[dict[str, Any]]:
        return self.sm.messages("ada")

    def report(self) -> str:
        return "\n".join(
            [str(self.messages()), self.sm.run("explain", "ada"), self.tmux.screen(self.pane)]
        )

    def options(self) -> str:
        """Every option of the server, its sessions, windows and panes."""
        shown = [self.tmux.run("show-options", *scope) for scope in (["-s"], ["-g"], ["-gw"])]
        for pane in self.tmux.run("list-panes", "-a", "-F", "#{pane_id}").split():
            scopes = (["-t"], ["-w", "-t"], ["-p", "-t"])
            shown += [self.tmux.run("show-options", *scope, pane) for scope in scopes]
            shown.append(self.tmux.run("show-environment", "-t", pane))
        return "\n".join(shown)


_HOOK = """\
import socket, sys
payload = sys.stdin.buffer.read()
daemon = socket.socket(socket.AF_UNIX)
daemon.connect({socket!r})
head = ["POST /hooks HTTP/1.1", "Host: localhost", "Connection: close"]
head += [f"Content-Length: {{len(payload)}}", "", ""]
daemon.sendall("\\r\\n".join(head).encode() + payload)
answer = b"".join(iter(lambda: daemon.recv(65536), b""))
sys.stdout.buffer.write(answer.partition(b"\\r\\n\\r\\n")[2])
"""


def install_hooks(sm: Sm, home: ClaudeHome) -> None:
    """What an installed hook does: hand the report to sm without a session, print the answer."""
    script = sm.folder / "hook.py"
    script.write_text(_HOOK.format(socket=str(sm.home.socket)))
    command = {"type": "command", "command": f"{sys.executable} -I -S {script}"}
    events = ("SessionStart", "SessionEnd", "UserPromptSubmit", "PostToolUse", "Stop")
    hooks = {event: [{"hooks": [command]}] for event in events}
    settings = {"hooks": hooks, "permissions": {"allow": ["Bash"]}}
    (home.config / "settings.json").write_text(json.dumps(settings))


@contextmanager
def at_work(sm: Sm, tmp_path: Path, *, hooks: bool = False) -> Iterator[Person]:
    """The client runs in a shell, as a person starts it; nothing of sm is installed."""
    tool = ToolUse(name="Bash", input={"command": "sleep 2"})
    nested = ToolUse(name="Bash", input={"command": f"{require_claude()} -p 'I am nested'"})
    script = by_prompt(
        [
            ("take your time", SLOW),
            ("run a tool", Reply(text="I run it.", tools=(tool,))),
            ("call a friend", Reply(text="I call.", tools=(nested,))),
        ]
    )
    with anthropic_api(script) as api, private_tmux() as tmux:
        home = claude_home(tmp_path, api.url)
        if hooks:
            install_hooks(sm, home)
        pane = tmux.start(
            ["bash", "--norc", "-i"],
            environment={**home.environment, "PS1": "SHELL> "},
            cwd=home.cwd,
        )
        neighbour = tmux.run(
            "split-window", "-d", "-P", "-F", "#{pane_id}", "-t", pane, "sleep 500"
        )
        person = Person(sm, api, tmux, home, neighbour, pane)
        wait_until(lambda: "SHELL>" in tmux.screen(pane), 10)
        tmux.run("send-keys", "-t", pane, f"{require_claude()} --model sonnet", "Enter")
        wait_until(lambda: BOX in tmux.screen(pane), 30, seen=lambda: tmux.screen(pane))
        wait_until(lambda: list((home.config / "sessions").glob("*.json")), 30)
        yield person


def test_messages_reach_an_adopted_client_exactly_once(sm: Sm, tmp_path: Path) -> None:
    """Idle, working, with a draft in the box, after /clear, after a restart of the daemon."""
    with at_work(sm, tmp_path) as person:
        before = person.options()

        told = person.adopt(person.pane, "ada")

        assert re.match(r"[0-9a-f]{8}  ada  claude  idle\n", told), told
        assert "cannot promise" in told
        assert "sm install" in told
        shown = sm.json("show", "ada")
        assert (shown["adopted"], shown["cwd"]) == (True, str(person.home.cwd))
        assert shown["arguments"] == ["--model", "sonnet"]
        assert shown["tmux"] == {
            "socket": person.socket, "session": "0", "pane": person.pane,
        }  # fmt: skip
        assert list(sm.home.adopted.iterdir()) == [sm.home.adopted / shown["id"]]

        person.send("first, while idle")
        person.settle()

        submit(person.tmux, person.pane, "take your time")
        sm.wait_state("ada", "working")
        person.send("second, while working")
        person.send("third, urgent while working", "--urgent")
        person.settle()

        person.type("half a thought")
        held = person.send("fourth, with a draft")
        wait_until(lambda: "unfinished text" in str(person.messages()), 15, seen=person.report)
        assert person.box() == "half a thought"
        person.tmux.press(person.pane, "C-u")
        person.settle()
        assert held in [m["id"] for m in person.messages()]

        person.type("/clear")
        person.tmux.press(person.pane, "Enter")
        person.send("fifth, after clear")
        person.settle()
        wait_until(lambda: sm.json("show", "ada")["context"]["number"] == 2, 10)

        sm.kill_worker()
        person.send("sixth, after a restart")
        person.settle()

        for text in person.sent:
            assert person.api.times_told(text) == 1, text
        assert {m["route"] for m in person.messages()} == {"paste"}
        assert all(
            "transcript" in str(m["receipts"]) and m["receipts"][-1]["step"] == "done"
            for m in person.messages()
        ), person.report()
        assert "fourth, with a draft" in sm.run("log", "ada")

        sm.run("release", "ada")
        assert sm.state("ada") == "ended"
        assert person.options() == before
        assert person.tmux.run("list-clients") == ""
        assert person.tmux.run("display-message", "-p", "-t", person.pane, "#{pane_pipe}") == "0"
        assert list(sm.home.adopted.iterdir()) == []
        assert BOX in person.tmux.screen(person.pane)


def test_ending_an_adopted_session_ends_its_agent_alone(sm: Sm, tmp_path: Path) -> None:
    """The shell it was started from, the pane beside it and the tmux server are the person's."""
    with at_work(sm, tmp_path) as person:
        person.adopt("0:0.0", "ada")
        pid = sm.json("show", "ada")["pid"]

        sm.run("kill", "ada")

        assert sm.state("ada") == "ended"
        assert not Path(f"/proc/{pid}").exists()
        panes = person.tmux.run("list-panes", "-a", "-F", "#{pane_id} #{pane_dead}")
        assert panes.split("\n") == [f"{person.pane} 0", f"{person.neighbour} 0"]
        wait_until(lambda: "SHELL>" in person.tmux.screen(person.pane), 10)
        assert person.tmux.run("show-options", "-p", "-t", person.pane) == ""


def test_a_client_that_a_person_leaves_has_ended(sm: Sm, tmp_path: Path) -> None:
    """/exit is no crash, although nobody can tell us the exit code; kill -9 is one."""
    with at_work(sm, tmp_path) as person:
        person.adopt(person.pane, "ada")
        person.type("/exit")
        person.tmux.press(person.pane, "Enter")
        sm.wait_state("ada", "ended")
        assert person.tmux.run("show-options", "-p", "-t", person.pane) == ""

        person.tmux.run("send-keys", "-t", person.pane, f"clear; {require_claude()}", "Enter")
        wait_until(lambda: list((person.home.config / "sessions").glob("*.json")), 30)
        wait_until(lambda: BOX in person.tmux.screen(person.pane), 30)
        person.adopt(person.pane, "bob")
        os.kill(sm.json("show", "bob")["pid"], 9)
        sm.wait_state("bob", "crashed")
        wait_until(lambda: not person.tmux.run("show-options", "-p", "-t", person.pane), 10)


def test_what_cannot_be_adopted_is_told(sm: Sm, tmp_path: Path) -> None:
    """What was asked for, what is there in its place."""
    with at_work(sm, tmp_path) as person:

        def refusal(*arguments: str) -> str:
            done = sm.start("adopt", *arguments, "--tmux-socket", person.socket)
            assert (done.returncode, done.stdout) == (1, "")
            return done.stderr

        assert "There is no pane '%77' on " in refusal("%77")
        assert "There is no pane 'nowhere:1.0' on " in refusal("nowhere:1.0")
        told = refusal(person.neighbour)
        assert f"No agent that sm knows runs in pane {person.neighbour} of tmux session 0" in told
        assert "sleep (process " in told
        assert "sm does not recognise a running 'emacs'. It can adopt: claude, demo." in refusal(
            person.pane, "--agent", "emacs"
        )
        person.adopt(person.pane, "ada")
        assert f"pane {person.pane} of tmux session 0 is already session ada." in refusal(
            person.pane
        )
        subprocess.run(["kill", str(person.tmux.pid(person.neighbour))], check=True)
        dead = ("display-message", "-p", "-t", person.neighbour, "#{pane_dead}")
        wait_until(lambda: person.tmux.run(*dead) == "1", 10)
        assert f"The program in pane {person.neighbour} of tmux session 0 has ended." in refusal(
            person.neighbour
        )


def test_with_hooks_in_its_settings_its_answers_are_routes(sm: Sm, tmp_path: Path) -> None:
    """Mid-turn, at the turn's end and after /clear; a nested client's hooks change nothing."""
    with at_work(sm, tmp_path, hooks=True) as person:
        person.adopt(person.pane, "ada")
        assert "Its hooks do not reach sm" in sm.run("show", "ada")
        person.send("zeroth, by typing")
        person.settle()
        assert "Its hooks reach sm" in sm.run("show", "ada")

        submit(person.tmux, person.pane, "run a tool")
        sm.wait_state("ada", "working")
        urgent = person.send("first, beside a tool's result", "--urgent")
        person.settle()
        submit(person.tmux, person.pane, "take your time")
        sm.wait_state("ada", "working")
        stopped = person.send("second, at the turn's end")
        person.settle()
        routes = {m["id"]: m["route"] for m in person.messages()}
        assert (routes[urgent], routes[stopped]) == ("tool_result", "stop_reply")

        submit(person.tmux, person.pane, "call a friend")
        wait_until(lambda: person.api.times_told("I am nested") == 1, 30, seen=person.report)
        sm.run("wait", "ada", "--timeout", "30")
        assert sm.json("show", "ada")["context"]["number"] == 1

        person.type("/clear")
        person.tmux.press(person.pane, "Enter")
        wait_until(lambda: sm.json("show", "ada")["context"]["number"] == 2, 10)
        submit(person.tmux, person.pane, "take your time")
        sm.wait_state("ada", "working")
        person.send("third, after clear")
        person.settle()

        assert person.messages()[-1]["route"] == "stop_reply"
        for text in person.sent:
            assert person.api.times_told(text) == 1, text
        assert sm.health()["spool"] == {"waiting": 0, "bad": []}
