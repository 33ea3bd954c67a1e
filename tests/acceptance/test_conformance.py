"""The demo agent and the real Claude Code, through sm, in the same scenarios.

What the fast tests show with the demo agent holds for the real client as long as this is green.
Both are sent the same texts: lines that begin with ``%`` say what the model does (see the demo
agent), and for the real client the model's service on loopback does the same.
"""

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from sm.core.envelope import unwrap
from tests.kit.anthropic_api import (
    DONE,
    SUMMARY,
    AnthropicApi,
    Reply,
    Request,
    ToolUse,
    Usage,
    anthropic_api,
)
from tests.kit.claude import claude_home, require_claude
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until

ALLOWED = '{"permissions": {"allow": ["Bash(sleep:*)", "Bash(true)"]}}'
STOP_CONTEXT = "Stop hook additional context: "
DIRECTIVE = re.compile(r"^%(tool|ask|agent|work|usage|say) ?(.*)$", re.MULTILINE)


class Agent(Protocol):
    """One kind of agent: how a session of it is started, and what its models were told."""

    sm: Sm

    def start(self, name: str) -> None: ...

    def times_told(self, name: str, words: str) -> int: ...


class DemoAgent:
    def __init__(self, sm: Sm) -> None:
        self.sm = sm

    def start(self, name: str) -> None:
        self.sm.new_demo(name)

    def times_told(self, name: str, words: str) -> int:
        return sum(unwrap(p) == words for p in self.sm.received(name))


class ClaudeAgent:
    def __init__(self, sm: Sm, api: AnthropicApi, folder: Path) -> None:
        self.sm = sm
        self._api = api
        client = require_claude()
        self._home = claude_home(folder, api.url)
        (self._home.config / "settings.json").write_text(ALLOWED)
        path = f"{client.parent}:{sm.environment['PATH']}"
        own = {"HOME": str(self._home.home), "PATH": path}
        self._environment = {**self._home.environment, **sm.environment, **own}

    def start(self, name: str) -> None:
        self.sm.new(name, agent="claude", environment=self._environment, cwd=self._home.cwd)

    def times_told(self, name: str, words: str) -> int:
        return self._api.times_told(f"\n{words}\n[end of message")


def as_the_demo_does(request: Request) -> Reply:
    """The model's part: what the directives in a prompt ask for, one reply for each."""
    if request.is_compaction:
        return SUMMARY
    added = request.last_user_text if STOP_CONTEXT in request.last_user_text else ""
    match DIRECTIVE.findall(request.prompt or added):
        case [("usage", tokens), *_]:
            return Reply(text="ok", usage=Usage(input=100, cache_read=int(tokens) - 100))
        case [("work", seconds), *_] | [_, ("work", seconds)]:
            return Reply(text="part", pause=float(seconds))
        case [("tool" | "ask", command), *_]:
            return Reply(text="ok", tools=(ToolUse(name="Bash", input={"command": command}),))
        case _:
            return DONE


@contextmanager
def demo_agent(folder: Path) -> Iterator[Agent]:
    with sm_home() as sm:
        yield DemoAgent(sm)


@contextmanager
def claude_agent(folder: Path) -> Iterator[Agent]:
    with sm_home() as sm, anthropic_api(as_the_demo_does) as api:
        yield ClaudeAgent(sm, api, folder)


KINDS = {"demo": demo_agent, "claude": claude_agent}


@pytest.fixture(scope="module", params=["demo", pytest.param("claude", marks=pytest.mark.claude)])
def agent(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Agent]:
    with KINDS[request.param](tmp_path_factory.mktemp(request.param)) as one:
        yield one


class Session:
    """One session of an agent under test, driven as a person drives it."""

    def __init__(self, agent: Agent, name: str) -> None:
        self.agent = agent
        self.sm = agent.sm
        self.name = name
        agent.start(name)

    def send(self, text: str, *options: str) -> str:
        return self.sm.run("send", self.name, text, *options).strip()

    def message(self, message_id: str) -> dict[str, Any]:
        return next(m for m in self.sm.messages(self.name) if m["id"] == message_id)

    def shown(self) -> dict[str, Any]:
        return dict(self.sm.json("show", self.name))

    def press(self, *keys: str) -> None:
        self.sm.tmux("send-keys", "-t", self.sm.pane(self.name), *keys)

    def type(self, text: str) -> None:
        self.press("-l", text)

    def seen(self) -> str:
        return f"{self.sm.run('messages', self.name, '--receipts')}\n{self.sm.screen(self.name)}"

    def until(self, true: Callable[[], object], timeout: float = 20) -> None:
        wait_until(true, timeout, seen=self.seen)

    def until_state(self, state: str, timeout: float = 20) -> None:
        self.until(lambda: self.sm.state(self.name) == state, timeout)

    def until_done(self, message_id: str) -> dict[str, Any]:
        self.until(lambda: self.message(message_id)["state"] == "done")
        return self.message(message_id)

    def times_told(self, words: str) -> int:
        return self.agent.times_told(self.name, words)

    def assert_told_once(self, words: str) -> None:
        self.until_state("idle")
        assert self.times_told(words) == 1, self.seen()


@pytest.fixture
def session(agent: Agent, request: pytest.FixtureRequest) -> Iterator[Session]:
    number = len(agent.sm.json("ls", "--all"))
    one = Session(agent, f"ada-{number}")
    yield one
    agent.sm.start("kill", one.name)


def test_an_idle_agent_is_typed_to(session: Session) -> None:
    """A message to an agent that does nothing is pasted into its box."""
    sent = session.until_done(session.send("count the parsers"))

    assert sent["route"] == "paste"
    session.assert_told_once("count the parsers")


def test_urgent_news_rides_on_a_tools_result(session: Session) -> None:
    """It reaches the model in the running turn, and nothing is interrupted."""
    first = session.send("begin\n%tool sleep 3")
    session.until(lambda: session.sm.screen(session.name).count("sleep 3"))
    urgent = session.until_done(session.send("the build is red", "--urgent"))

    assert urgent["route"] == "tool_result"
    session.assert_told_once("the build is red")
    assert "nterrupted" not in session.sm.screen(session.name)
    assert session.message(first)["state"] == "done"


def test_the_next_message_answers_the_turns_end(session: Session) -> None:
    """Two that waited for a working agent come one after the other, without typing."""
    session.send("begin\n%tool sleep 2")
    session.until_state("working")
    texts = ("second thing\n%tool sleep 1", "third thing")
    sent = [session.send(text) for text in texts]

    assert [session.until_done(one)["route"] for one in sent] == ["stop_reply", "stop_reply"]
    for text in texts:
        session.assert_told_once(text)


def test_a_draft_survives_a_message(session: Session) -> None:
    """The doorbell wakes the agent; what a person was typing stays in the box."""
    session.type("half a thought")
    session.until(lambda: "half a thought" in session.sm.screen(session.name))

    sent = session.until_done(session.send("look at the log"))

    assert sent["route"] == "doorbell"
    session.assert_told_once("look at the log")
    assert "❯\xa0half a thought" in session.sm.screen(session.name)


def test_a_dialog_is_never_answered_by_a_message(session: Session) -> None:
    """It waits, says why, and arrives once the person has decided."""
    session.send("begin\n%ask touch approved")
    session.until_state("waiting")
    sent = session.send("meanwhile", "--urgent")

    session.until(lambda: "dialog" in (session.message(sent)["waiting"] or ""))
    # Long enough for every retry that might type.
    time.sleep(1.5)
    assert session.message(sent)["state"] == "queued"
    assert session.sm.state(session.name) == "waiting"
    session.press("Escape")
    session.until_done(sent)
    session.assert_told_once("meanwhile")
    cwd = Path(session.shown()["cwd"])
    assert not (cwd / "approved").exists()


def test_an_interrupt_is_noticed(session: Session) -> None:
    """No hook tells that Escape ended a turn."""
    session.send("begin\n%say part\n%work 30")
    session.until(lambda: "● part" in session.sm.screen(session.name))
    session.press("Escape")

    session.until_state("idle", 2.5)


def test_a_cleared_agent_goes_on_in_a_new_context(session: Session) -> None:
    """It has a new id and number, and the next message reaches it."""
    session.until_done(session.send("before"))
    session.until_state("idle")
    old = session.shown()["context"]
    session.type("/clear")
    session.until(lambda: "❯\xa0/clear" in session.sm.screen(session.name))
    session.press("Enter")
    session.until(lambda: session.shown()["context"]["number"] == old["number"] + 1)

    sent = session.until_done(session.send("after the clear"))

    assert session.shown()["context"]["id"] != old["id"]
    assert sent["route"] == "paste"
    session.assert_told_once("after the clear")


def test_a_killed_agent_has_crashed(session: Session) -> None:
    """kill -9 leaves its files behind; sm is not deceived by them."""
    session.until_done(session.send("hello"))
    pane = session.sm.pane(session.name)
    pid = session.sm.tmux("display-message", "-p", "-t", pane, "#{pane_pid}")
    os.kill(int(pid), signal.SIGKILL)

    session.until_state("crashed", 2.5)


def test_tokens_are_those_the_model_reported(session: Session) -> None:
    """Whatever the agent's screen says."""
    session.until_done(session.send("begin\n%usage 51234\n%say ok"))

    session.until(lambda: session.shown()["context"]["tokens"] == 51_234, 5)
