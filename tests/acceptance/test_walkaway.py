"""A session nobody watches: its context fills, and sm hands it over."""

from pathlib import Path

import pytest

from tests.kit.anthropic_api import Reply, Request, ToolUse, Usage
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ladder import Desk
from tests.prove.walkaway import (
    CONFIG,
    LEVELS,
    TASK,
    Task,
    configure,
    contexts_with_task,
    finish,
    side_by_side,
    unattended,
)

PATIENT = CONFIG.replace('deadline = "0s"', 'deadline = "10m"')
SMALLEST_WINDOW = "100000"
"""Such a client compacts at 67,000 tokens."""


def records(ada: Desk) -> str:
    """All that the client wrote of all its contexts."""
    found = sorted(Path(ada.home.config).glob("projects/*/*.jsonl"))
    return "\n".join(path.read_text() for path in found)


@pytest.mark.claude
def test_a_task_goes_on_through_three_contexts(sm: Sm) -> None:
    """Though it is one turn that never ends by itself: it is ended by no key."""
    with unattended(sm, steps=18) as (ada, task):
        finish(ada, task, 90)

        handoffs = sm.json("handoffs", "ada")
        assert task.lines == task.wanted
        assert [h["kind"] for h in handoffs] == ["auto"] * len(handoffs)
        assert len(task.begun) == len(handoffs) + 1 >= 3
        assert contexts_with_task(ada) == [True] * len(task.begun)
        wait_until(lambda: records(ada).count("hook_stopped_continuation") == len(handoffs), 10)
        assert "Request interrupted" not in records(ada)


class Obedient(Task):
    """Hands over itself as soon as it is asked to."""

    def reply(self, request: Request) -> Reply:
        usual = Task.reply(self, request)
        if "Context critically high" not in request.last_user_text:
            return usual
        step = len(self.lines)
        document = f"# Goal\n{TASK}\n# Done\n{self.command(step)}\n# Next actions\nGo on."
        command = f"sm handoff - <<'EOF'\n{document}\nEOF"
        tool = ToolUse(name="Bash", input={"command": command})
        return Reply(text="I hand over.", tools=(tool,), usage=usual.usage)


@pytest.mark.claude
def test_an_agent_that_hands_over_when_it_is_asked_is_left_to_it(sm: Sm) -> None:
    task = Obedient(steps=8, file=sm.folder / "steps.txt")

    def reply(request: Request) -> Reply:
        if "Handoff scheduled" in request.last_user_text:
            return Reply(text="I wait for the next context.")
        return task.reply(request)

    with unattended(sm, steps=8, config=PATIENT, task=task) as (ada, _):
        ada.api.script = reply
        wait_until(lambda: len(sm.json("handoffs", "ada")) == 1, 60, seen=ada.report)
        wait_until(lambda: sm.json("handoffs", "ada")[0]["state"] == "done", 60, seen=ada.report)

        assert [h["kind"] for h in sm.json("handoffs", "ada")] == ["self"]
        assert ada.api.times_told("sm does it for you 10 min from now") == 1
        assert "hook_stopped_continuation" not in records(ada)


class Leaping(Task):
    """After two steps a context is all at once beyond the point where the client compacts."""

    def usage(self, request: Request, done: int) -> Usage:
        here = done - self.begun[request.session]
        return Usage(input=10, cache_read=20_000 if here < 2 else 80_000)


LATE = LEVELS.format(early=50_000, warning=55_000, critical=60_000, deadline="10m")


@pytest.mark.claude
def test_a_compaction_is_held_back_and_the_context_handed_over(sm: Sm) -> None:
    """Whatever the deadline is."""
    task = Leaping(steps=9, file=sm.folder / "steps.txt")
    window = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": SMALLEST_WINDOW}
    with unattended(sm, steps=9, config=LATE, task=task, **window) as (ada, _):
        finish(ada, task, 90)

        handoffs = sm.json("handoffs", "ada")
        assert task.lines == task.wanted
        assert {h["steps"][0]["evidence"] for h in handoffs} == {"by sm: it was about to compact"}
        assert contexts_with_task(ada) == [True] * (len(handoffs) + 1)
        assert not any(request.is_compaction for request in ada.api.requests)
        assert "compact_boundary" not in records(ada)


class Failing(Leaping):
    """Every command of it fails: the client ends no turn at a failure."""

    def command(self, step: int) -> str:
        return f"{Task.command(self, step)}; false"


@pytest.mark.claude
def test_where_no_handoff_is_possible_the_second_compaction_is_let_through(sm: Sm) -> None:
    """And the agent goes on: a context that is neither handed over nor compacted would end."""
    task = Failing(steps=7, file=sm.folder / "steps.txt")
    window = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": SMALLEST_WINDOW}
    with unattended(sm, steps=7, config=LATE, task=task, **window) as (ada, _):
        finish(ada, task, 90)

        assert task.lines == task.wanted
        assert any(request.is_compaction for request in ada.api.requests)


KEY = "AKIA" + "Z7Q4M2XW9K3LD5RB"


class Careless(Task):
    """Every command of it holds a secret."""

    def command(self, step: int) -> str:
        return f"{Task.command(self, step)}; : {KEY}"


@pytest.mark.claude
def test_no_secret_comes_into_the_next_context(sm: Sm) -> None:
    """Neither in the document nor in what lies beside it, though the person's request held one."""
    task = Careless(steps=8, file=sm.folder / "steps.txt")
    prompt = f"{TASK}\nThe key is {KEY}.\n" + "Mind the details. " * 600
    with unattended(sm, steps=8, task=task, prompt=prompt) as (ada, _):
        finish(ada, task, 90)

        assert task.lines == task.wanted
        first, *later = dict.fromkeys(request.session for request in ada.api.main_requests())
        given = dict.fromkeys((first, *later), "")
        for request in ada.api.main_requests():
            # What the model itself says later on is its own doing.
            if not given[request.session]:
                given[request.session] = str(request.body)
        assert KEY in given[first]
        assert later
        assert not any(KEY in given[context] for context in later)
        kept = [f for f in sm.home.sessions.glob("*/handoffs/*/*") if f.name != "dump.txt"]
        assert {"document.md", "essence.md", "request-1.md"} <= {file.name for file in kept}
        assert not any(KEY in file.read_text() for file in kept)
        assert "[redacted:aws-access-key]" in given[later[0]]


def test_three_sessions_side_by_side_go_on_with_their_own(sm: Sm) -> None:
    """Twenty steps each, over three contexts or more: each once, in order, and none of another's.

    The person's request is given to each context word for word.
    """
    verdict, words = side_by_side(sm, sessions=3, steps=20)

    assert verdict.holds, (verdict, words)
    assert all(len(sm.json("handoffs", f"w{n}x")) >= 2 for n in (1, 2, 3)), words


def test_what_the_first_context_finished_the_third_does_not_do_again(sm: Sm) -> None:
    """Its document tells what became of every request, not of the last context's alone."""
    configure(sm, '[handoff]\ncooldown = "0s"\ndeadline = "0s"\n')
    task = "%task 5 echo t-{} >> three.txt"
    sm.run(
        "new", "three", "--agent", "demo", "--auto-handoff", "--prompt", task,
        "--", "--window", "20000", "--delay", "0",
    )  # fmt: skip
    done = sm.work / "three.txt"
    wait_until(lambda: done.exists() and done.read_text().count("t-") == 5, 20)
    sm.run("wait", "three")
    for handoffs in (1, 2):
        sm.run("send", "three", f"please note {handoffs}\n%usage 15901\n%say fine")
        wait_until(lambda n=handoffs: rotated(sm, n), 30)  # type: ignore[misc]
        sm.run("wait", "three")

    document = Path(sm.json("handoffs", "three")[-1]["document"]).read_text()
    first = sm.json("handoffs", "three")[0]["document"]
    assert done.read_text().split() == [f"t-{n}" for n in range(1, 6)]
    before = document.partition("## Before this context")[2].partition("\n## ")[0]
    assert "echo t-5 >> three.txt" in before
    assert first in before
    assert "answered in context 1" in document


def rotated(sm: Sm, times: int) -> bool:
    found = sm.json("handoffs", "three")
    return len(found) == times and found[-1]["state"] == "done"
