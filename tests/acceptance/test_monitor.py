"""A context fills: what the model is really told of it, by the demo agent and the real Claude Code.

What counts is what reached the model. For the real client that is what its service received.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, cast

import pytest

from tests.kit.anthropic_api import Reply, Request, ToolUse, Usage
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ladder import Desk, desk

WARNING, CRITICAL = "[sm context] Context at ", "[sm context] Context critically high."
NO_REPLY = 20_000
"""Tokens before the first sample, of whatever size the window is."""


class Agent(Protocol):
    sm: Sm

    def reply_with(self, tokens: int, tool: str | None = None) -> None:
        """Have the model say this of its context, after running a command."""

    def type(self, line: str) -> None: ...

    def told(self, words: str) -> int:
        """How often the model was told something."""


class DemoAgent:
    def __init__(self, sm: Sm) -> None:
        self.sm = sm
        sm.new_demo("ada")

    def reply_with(self, tokens: int, tool: str | None = None) -> None:
        lines = [
            f"%usage {tokens}",
            "%say I look.",
            *([f"%tool {tool}"] if tool else []),
            "%say ok",
        ]
        self.sm.run("send", "ada", "\n".join(lines))

    def type(self, line: str) -> None:
        pane = self.sm.pane("ada")
        self.sm.tmux("send-keys", "-t", pane, "-l", line)
        wait_until(lambda: line in self.sm.screen("ada"), 5)
        self.sm.tmux("send-keys", "-t", pane, "Enter")

    def told(self, words: str) -> int:
        return sum(words in prompt for prompt in self.sm.received("ada"))


class ClaudeAgent:
    def __init__(self, ada: Desk) -> None:
        self.sm = ada.sm
        self._desk = ada
        self._tokens, self._tool = NO_REPLY, ""
        ada.api.script = self._reply

    def start(self, **environment: str) -> None:
        given = {**self._desk.environment, **environment}
        self.sm.new("ada", agent="claude", environment=given, cwd=self._desk.home.cwd)

    def _reply(self, request: Request) -> Reply:
        usage = Usage(input=10, cache_read=self._tokens - 10)
        if self._tool and request.prompt == "go on":
            tool = ToolUse(name="Bash", input={"command": self._tool})
            return Reply(text="I look.", tools=(tool,), usage=usage)
        return Reply(text="Fine.", usage=usage)

    def reply_with(self, tokens: int, tool: str | None = None) -> None:
        self._tokens, self._tool = tokens, tool or ""
        self._desk.prompt("go on")

    def type(self, line: str) -> None:
        self._desk.prompt(line)

    def told(self, words: str) -> int:
        return self._desk.api.times_told(words)


@contextmanager
def demo(sm: Sm) -> Iterator[Agent]:
    yield DemoAgent(sm)


@contextmanager
def claude(sm: Sm) -> Iterator[Agent]:
    with desk(sm) as ada:
        agent = ClaudeAgent(ada)
        agent.start()
        yield agent


AGENTS: dict[str, Callable[[Sm], Any]] = {"demo": demo, "claude": claude}


@pytest.fixture(params=["demo", pytest.param("claude", marks=pytest.mark.claude)])
def ada(sm: Sm, request: pytest.FixtureRequest) -> Iterator[Agent]:
    with AGENTS[request.param](sm) as agent:
        yield agent


def context(ada: Agent) -> dict[str, Any]:
    return cast("dict[str, Any]", ada.sm.client().get("/sessions/ada/context"))


def messages(ada: Agent) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", ada.sm.client().get("/messages", session="ada"))


def seen(ada: Agent) -> Callable[[], str]:
    return lambda: f"{context(ada)}\n{messages(ada)}\n{ada.sm.screen('ada')}"


def until(ada: Agent, true: Callable[[], object]) -> None:
    wait_until(true, 15, seen=seen(ada))


def window(ada: Agent) -> int:
    """The real one: known when the model has replied once."""
    ada.reply_with(NO_REPLY)
    until(ada, lambda: context(ada)["tokens"] == NO_REPLY)
    settle(ada)
    return int(context(ada)["window"])


def settle(ada: Agent) -> None:
    """Nothing is left to be given, and nobody works."""
    ada.sm.client().get("/sessions/ada/wait", until="idle", timeout=15)


def fill(ada: Agent, tokens: int) -> tuple[int, int]:
    """Have the model report this; how many warnings and critical ones it was told by then."""
    ada.reply_with(tokens)
    until(ada, lambda: context(ada)["tokens"] == tokens)
    settle(ada)
    return alerts(ada)


def alerts(ada: Agent) -> tuple[int, int]:
    return ada.told(WARNING), ada.told(CRITICAL)


def test_each_level_reaches_the_model_exactly_once(ada: Agent) -> None:
    """49.9 % nothing, 50 % one warning; sinking and rising again nothing; 65 % one critical."""
    whole = window(ada)
    parts = (49.9, 50, 30, 52, 65, 70)

    found = [fill(ada, round(whole * part / 100)) for part in parts]

    assert found == [(0, 0), (1, 0), (1, 0), (1, 0), (1, 1), (1, 1)]
    now = context(ada)
    assert now["level"] == "CRITICAL"
    assert [t["reached"] for t in now["thresholds"]] == [True, True, True]


def test_a_new_context_is_warned_anew(ada: Agent) -> None:
    """After /clear; and a level that is jumped over is not told."""
    whole = window(ada)
    assert fill(ada, whole * 52 // 100) == (1, 0)

    ada.type("/clear")
    until(ada, lambda: context(ada)["number"] == 2)
    settle(ada)
    assert [t["reached"] for t in context(ada)["thresholds"]] in ([], [False] * 3)

    assert fill(ada, whole * 30 // 100) == (1, 0)
    assert fill(ada, whole * 70 // 100) == (1, 1)


def test_a_critical_context_is_told_in_the_middle_of_a_turn(ada: Agent) -> None:
    """Beside a tool's result, without interrupting anything."""
    ada.reply_with(round(window(ada) * 0.7), tool="sleep 2")
    until(ada, lambda: alerts(ada) == (0, 1))
    settle(ada)

    (told,) = [m for m in ada.sm.messages("ada") if CRITICAL in m["text"]]
    assert (told["route"], told["mode"], told["from"]) == ("tool_result", "urgent", "sm")
    assert alerts(ada) == (0, 1)


@pytest.mark.claude
def test_levels_stay_below_the_point_where_claude_compacts(sm: Sm) -> None:
    """Its window is a million, but it was told to compact as if it were 200,000."""
    with desk(sm) as place:
        ada = ClaudeAgent(place)
        ada.start(CLAUDE_CODE_AUTO_COMPACT_WINDOW="200000")
        window(ada)

        shown = sm.run("context", "ada")
        moved = "at 158,650 tokens instead of 650,000: below the agent's own compaction at 167,000"
        assert f"critical     {moved}\n" in shown

        assert fill(ada, 142_000) == (0, 0)
        assert fill(ada, 143_000) == (1, 0)
        assert fill(ada, 159_000) == (1, 1)


def test_a_compaction_that_happens_anyway_is_shown_and_the_parent_told(sm: Sm) -> None:
    """bob learns that ada's context is no longer what it was."""
    sm.new_demo("bob")
    sm.new_demo("ada", environment={"CLAUDE_SESSION_MANAGER_ID": sm.json("show", "bob")["id"]})
    sm.run("send", "ada", "%usage 90000\n%say ok", "--wait", "20", "--no-notify")
    wait_until(lambda: sm.json("context", "ada")[0]["tokens"] == 90_000)
    sm.run("send", "ada", "%compact", "--no-notify")

    wait_until(lambda: any("compacted" in prompt for prompt in sm.received("bob")), 15)

    (told,) = [prompt for prompt in sm.received("bob") if "compacted" in prompt]
    words = "[sm] ada's context was compacted (manual) at 90,000 tokens: details may be lost"
    assert words in told
    for command in ("context", "show"):
        assert "ago (manual) at 90,000 tokens" in sm.run(command, "ada")


@pytest.mark.claude
def test_the_real_clients_compaction_is_told_to_its_parent(sm: Sm) -> None:
    """Once, with how full it was."""
    with desk(sm) as place:
        sm.new_demo("bob")
        ada = ClaudeAgent(place)
        ada.start(CLAUDE_SESSION_MANAGER_ID=sm.json("show", "bob")["id"])
        window(ada)
        assert fill(ada, 90_000) == (0, 0)
        ada.type("/compact")

        until(ada, lambda: any("compacted" in prompt for prompt in sm.received("bob")))

        told = [prompt for prompt in sm.received("bob") if "compacted" in prompt]
        assert len(told) == 1
        assert "ada's context was compacted (manual) at 90,000 tokens: details may" in told[0]


@pytest.mark.claude
def test_without_a_status_line_thresholds_in_tokens_hold(sm: Sm) -> None:
    """Its transcript tells the tokens and no window; what then cannot be known is said."""
    sm.base.mkdir(parents=True)
    sm.home.config.write_text("[context_monitor]\nwarning_threshold = 100000\n")
    with desk(sm) as place:
        sm.run("daemon", "start")
        # As if the client had none: its command reports to nobody.
        (sm.home.state / "bin" / "statusline").write_text("#!/bin/sh\nexit 0\n")
        ada = ClaudeAgent(place)
        ada.start()

        assert fill(ada, 99_000) == (0, 0)
        assert fill(ada, 101_000) == (1, 0)
        assert (context(ada)["window"], context(ada)["level"]) == (None, "WARN")
        assert "status line: it does not run ours" in sm.run("show", "ada")


@pytest.mark.parametrize("wanted", [None, 104_000], ids=["before the sample", "after it"])
def test_a_warning_survives_the_daemons_death(sm: Sm, wanted: int | None) -> None:
    """Sample, level and message share one commit; what was told to nobody is asked for again."""
    ada = DemoAgent(sm)
    ada.reply_with(104_000)
    until(ada, lambda: context(ada)["tokens"] == wanted)
    sm.kill_worker()

    until(ada, lambda: alerts(ada) == (1, 0))
    settle(ada)

    assert alerts(ada) == (1, 0)


def test_a_session_that_opted_out_is_never_warned(sm: Sm) -> None:
    """Not at its start, not by a new daemon; and warned again when it is asked for."""
    sm.run("new", "ada", "--no-monitor", "--", "--delay", "0")
    sm.run("wait", "ada", "--timeout", "20")
    sm.run("send", "ada", "%usage 140000\n%say ok", "--wait", "20")
    wait_until(lambda: sm.json("context", "ada")[0]["tokens"] == 140_000)
    sm.run("daemon", "stop")
    sm.home.config.write_text("[context_monitor]\nwarning_threshold = 1000\nearly_threshold = 9\n")

    (told,) = sm.json("context", "ada")
    assert (told["monitored"], told["opted_out"], told["level"]) == (False, True, "CRITICAL")
    assert [m for m in sm.messages("ada") if CRITICAL in m["text"]] == []

    (told,) = sm.json("context", "ada", "--on")
    assert (told["monitored"], told["opted_out"]) == (True, False)
    wait_until(
        lambda: [m["state"] for m in sm.messages("ada") if CRITICAL in m["text"]] == ["done"]
    )
