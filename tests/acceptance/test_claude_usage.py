"""How full the real Claude Code's context is: what sm says is what the API reported."""

from collections.abc import Iterator

import pytest

from tests.kit.anthropic_api import SUMMARY, Reply, Request, ToolUse, Usage
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ladder import Desk, desk

pytestmark = pytest.mark.claude

PLAIN = Usage(input=10, cache_creation=200, cache_read=40_000, output=77)
AFTER_TOOL = Usage(input=11, cache_creation=300, cache_read=50_000)
OF_SUBAGENT = Usage(input=12, cache_creation=400, cache_read=600_000)
OF_COMPACTION = Usage(input=13, cache_creation=500, cache_read=700_000)
BIG = {"command": "yes 0123456789abcdef | head -c 1200000 > big; cat big"}


def total(usage: Usage) -> int:
    return usage.input + usage.cache_creation + usage.cache_read


def script(request: Request) -> Reply:
    if request.is_compaction:
        return Reply(text=SUMMARY.text, usage=OF_COMPACTION)
    if request.is_subagent:
        return Reply(text="sub done", usage=OF_SUBAGENT)
    if "ask a helper" in request.prompt:
        task = {"description": "s", "prompt": "SUB do", "subagent_type": "general-purpose"}
        return Reply(tools=(ToolUse(name="Agent", input=task),), usage=PLAIN)
    if "read it all" in request.prompt:
        return Reply(tools=(ToolUse(name="Bash", input=BIG),), usage=PLAIN)
    if "fail" in request.prompt:
        return Reply(status=400, error="invalid_request_error", text="a bad request")
    return Reply(text="Fine.", usage=PLAIN if request.prompt else AFTER_TOOL)


@pytest.fixture(params=["statusline", "transcript"])
def ada(sm: Sm, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """Once with the client's status line, once by its transcript alone."""
    with desk(sm, script) as ada:
        ada.start()
        if request.param == "transcript":
            # As if the client had none: its command reports to nobody.
            (sm.home.state / "bin" / "statusline").write_text("#!/bin/sh\nexit 0\n")
        ada.source = request.param
        yield ada


def shown(ada: Desk) -> tuple[int | None, str | None]:
    (told,) = ada.sm.json("context", "ada")
    return told["tokens"], told["source"]


def say(ada: Desk, prompt: str, tokens: int) -> None:
    ada.prompt(prompt)
    wait_until(lambda: shown(ada) == (tokens, ada.source), 20, seen=lambda: shown(ada))


def test_tokens_are_those_of_the_last_request_of_the_session_itself(ada: Desk) -> None:
    say(ada, "hello", total(PLAIN))
    say(ada, "ask a helper", total(AFTER_TOOL))
    say(ada, "hello again", total(PLAIN))
    say(ada, "read it all", total(AFTER_TOOL))

    ada.prompt("please fail")
    wait_until(lambda: "error" in ada.sm.json("show", "ada")["last_words"], 10, seen=ada.report)
    ada.settle()
    assert shown(ada)[0] == total(AFTER_TOOL)

    if ada.source == "statusline":
        assert ada.sm.json("context", "ada")[0]["window"] == 1_000_000


def test_compacting_and_clearing_begin_anew(ada: Desk) -> None:
    say(ada, "hello", total(PLAIN))
    say(ada, "ask a helper", total(AFTER_TOOL))

    ada.prompt("/compact")
    wait_until(lambda: ada.sm.json("context", "ada")[0]["compactions"] == 1, 20, seen=ada.report)
    ada.settle()
    assert (shown(ada)[0] or 0) < total(PLAIN)
    say(ada, "hello after that", total(PLAIN))

    ada.prompt("/clear")
    wait_until(lambda: ada.sm.json("context", "ada")[0]["number"] == 2, 20, seen=ada.report)
    assert shown(ada)[0] is None
    say(ada, "hello in a new context", total(PLAIN))
