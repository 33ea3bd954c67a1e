"""What a crash cut off, in words an agent can act on."""

from dataclasses import replace

import pytest

from sm.core.cut_off import partial_work, still_to_do
from sm.core.exchange import Deed, Exchange, Result, Role
from sm.core.ids import HandoffId
from tests.core.test_remains import ASKED, CALL, CRASH, QUIET, REPLY, remains


def call(tool: str, text: str, deed: Deed) -> Exchange:
    return Exchange(role=Role.CALLED, tool=tool, text=text, deed=deed)


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (
            call("Write", "a.py", Deed.CHANGE),
            "Write `a.py` was cut: check that the file is complete",
        ),
        (call("Read", "a.py", Deed.LOOK), "Read `a.py` was cut: simply repeat it"),
        (call("Task", "count", Deed.AGENT), "Task `count` was cut: that agent is gone"),
        (call("AskUserQuestion", "Left?", Deed.QUESTION), "got no answer: ask again"),
        (call("mcp__x", "y", Deed.OTHER), "see whether it took effect before you repeat it"),
        (CALL, "Bash `make` has no result. No process of it was found running: see how far"),
    ],
)
def test_each_kind_of_tool_is_told_with_what_to_do(cut: Exchange, words: str) -> None:
    assert words in partial_work(remains(ASKED, cut), 2_000)


@pytest.mark.parametrize(
    ("line", "process"),
    [
        ("make all", "process 123: make all"),
        ("cd src && make all 2>&1 | tail", "process 123: make all"),
        ("make all", "process 123: /bin/bash -c eval 'make all' < /dev/null"),
    ],
)
def test_a_command_that_still_runs_is_named_with_its_process(line: str, process: str) -> None:
    """The agent must not begin a build twice in one folder."""
    left = replace(remains(ASKED, replace(CALL, text=line)), survivors=(process, "process 9: vite"))

    told = partial_work(left, 2_000)

    assert f"It still runs ({process}): wait for it or end it, do not begin it twice." in told
    assert told.count("123") == 1
    assert "- Still running from before the crash: process 9: vite\n" in told


@pytest.mark.parametrize(
    "process", ["process 7: ls", "process 7: makeall", "process 7: all; l", "process 7: "]
)
def test_a_process_that_only_looks_like_the_command_is_not_taken_for_it(process: str) -> None:
    told = partial_work(
        replace(remains(ASKED, replace(CALL, text="make all; lsof")), survivors=(process,)), 2_000
    )

    assert "It may be among the processes below: look before you repeat it." in told


def test_what_waited_for_consent_most_likely_did_not_run() -> None:
    told = partial_work(remains(ASKED, CALL, crash=CRASH), 2_000)

    assert "Bash `make` has no result. A question was open at that time" in told
    assert "A question to the person was open (Run x?) and got no answer: ask again." in told


def test_a_request_that_nothing_came_after_is_named() -> None:
    """The client itself tells a resumed agent that no reply to it was wanted."""
    told = partial_work(remains(REPLY, ASKED, crash=replace(QUIET, busy=True)), 2_000)

    assert told == "- Nothing was done yet for the last request: `Port it`\n"


def test_a_turn_that_was_cut_between_two_steps_says_so() -> None:
    busy = replace(QUIET, busy=True)

    assert "your last words may be lost" in partial_work(remains(ASKED, REPLY, crash=busy), 2_000)
    assert partial_work(remains(ASKED, REPLY), 2_000) == ""


def test_messages_the_agent_does_not_know_of_are_told_word_for_word() -> None:
    typed = replace(ASKED, text="and {this}\n too", is_waiting=True)
    left = replace(remains(ASKED, REPLY, typed), unrecorded=("say `hello`\n",))

    assert still_to_do(left, 2_000) == (
        "Still to be done:\n"
        "\n(taken by you; your record lacks it):\n\n```\nsay `hello`\n\n```\n"
        "\n(typed while you worked, never given to you):\n\n```\nand {this}\n too\n```\n"
    )
    assert still_to_do(remains(ASKED, REPLY), 2_000) == ""


def test_many_cut_calls_are_listed_as_far_as_they_fit() -> None:
    cut = [call("Write", f"file-{n}", Deed.CHANGE) for n in range(100)]

    told = partial_work(remains(ASKED, *cut), 1_000)

    assert len(told.encode()) <= 1_000
    assert "more left out" in told
    assert "file-99" in told


def test_a_handoff_that_was_cut_is_still_to_be_carried_out() -> None:
    """Its agent had stopped, and counted on the next context."""
    quiet = remains(ASKED, REPLY)
    cut = replace(quiet, crash=replace(QUIET, handoff=HandoffId("HO-1")))

    assert not quiet.is_open
    assert cut.is_open
    assert "Handoff HO-1 was under way and came to nothing" in partial_work(cut, 2_000)


@pytest.mark.parametrize(("failed", "how"), [(False, "was done"), (True, "failed")])
def test_a_call_that_ended_unrecorded_is_not_to_be_done_again(failed: bool, how: str) -> None:
    """A resumed agent does not find it in its own record: it must be told."""
    ended = replace(CALL, result=Result(is_failed=failed, is_recorded=False))
    left = remains(ASKED, ended)

    told = partial_work(left, 2_000)

    assert (
        told == f"- Bash `make` {how}, though your own record lacks it: do not repeat it unseen.\n"
    )
    assert left.is_open
    assert partial_work(remains(ASKED, ended, ASKED, REPLY), 2_000) == ""


def test_a_handoff_that_somebody_else_took_is_left_to_them() -> None:
    crash = replace(QUIET, handoff=HandoffId("HO-1"))
    taken = replace(remains(ASKED, REPLY), crash=crash, taken_by="bob")

    told = partial_work(taken, 2_000)

    assert "Handoff HO-1 was under way. bob has taken it over" in told
    assert "still to be done" not in told
