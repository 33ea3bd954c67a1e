"""One connection: answers in the order of the questions, and a loss that everybody hears of."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from sm.adapters.tmux.blocks import Block
from sm.adapters.tmux.program import TmuxProgram
from sm.adapters.tmux.wire import Wire, open_wire
from sm.core.launch import TerminalUnreachableError

from .rig import NO_CONF, Rig, until_true


@dataclass
class Line:
    """A wire to the session ``anchor``, and what it told us unasked."""

    wire: Wire
    notices: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


async def attach(rig: Rig, anchor: str) -> Line:
    notices: list[str] = []
    losses: list[str] = []
    wire = await open_wire(
        TmuxProgram(socket=rig.socket, conf=NO_CONF),
        f"={anchor}",
        lost=lambda: losses.append("lost"),
        notice=notices.append,
    )
    return Line(wire, notices, losses)


@pytest.fixture
async def line(rig: Rig) -> AsyncIterator[Line]:
    rig.tmux("new-session", "-d", "-s", "anchor", "-x", "100", "-y", "30", "cat")
    line = await attach(rig, "anchor")
    yield line
    line.wire.close()
    await line.wire.wait_closed()


def said(*lines: str) -> Block:
    return Block(lines=lines, failed=False)


def say(*words: str) -> tuple[str, ...]:
    return ("display-message", "-p", " ".join(words))


async def answer(line: Line, *commands: tuple[str, ...]) -> list[Block]:
    async with asyncio.timeout(5):
        return await line.wire.request(*commands)


async def test_questions_asked_at_once_are_answered_in_their_order(line: Line) -> None:
    """Nobody waits for the answer before theirs, and nobody gets another's."""
    done: list[int] = []
    answers = [line.wire.request(say("word", str(n))) for n in range(50)]
    for n, one in enumerate(answers):
        one.add_done_callback(lambda _answer, n=n: done.append(n))  # type: ignore[misc]

    async with asyncio.timeout(5):
        assert await asyncio.gather(*answers) == [[said(f"word {n}")] for n in range(50)]
    assert done == list(range(50))


async def test_each_command_of_a_list_has_its_own_block(line: Line) -> None:
    """Also one that prints nothing."""
    commands = (say("one"), ("set-option", "-s", "@x", "1"), say("three"))

    assert await answer(line, *commands) == [said("one"), said(), said("three")]


async def test_a_list_that_fails_ends_with_what_tmux_said(line: Line) -> None:
    """The next question's answer is not taken for the rest of it."""
    failed = Block(lines=("can't find pane: %99",), failed=True)

    assert await answer(line, say("one"), ("kill-pane", "-t", "%99"), say("three")) == [
        said("one"),
        failed,
    ]
    assert await answer(line, say("next")) == [said("next")]


async def test_what_tmux_tells_unasked_is_no_answer(rig: Rig, line: Line) -> None:
    assert await answer(line, ("new-session", "-d", "-s", "ada", "cat")) == [said()]

    await until_true(lambda: "%sessions-changed" in line.notices)


async def test_the_connection_hears_no_output_and_counts_for_no_windows_size(
    rig: Rig, line: Line
) -> None:
    """A daemon that is slow to read must not hold an agent up, nor change what a person sees."""
    rig.tmux("send-keys", "-t", "anchor:", "hello", "Enter")
    await until_true(lambda: "hello\nhello" in rig.tmux("capture-pane", "-p", "-t", "anchor:"))

    # Past this answer, any output would have been told before it.
    await answer(line, say("ready"))
    assert [notice for notice in line.notices if notice.startswith("%output")] == []
    assert "ignore-size" in rig.tmux("list-clients", "-F", "#{client_flags}").split(",")


async def test_a_server_that_ends_is_told_to_everyone_who_waits(rig: Rig, line: Line) -> None:
    """Once to the owner; to each caller that the command may have run."""
    await answer(line, say("ready"))
    server = int(rig.tmux("display-message", "-p", "#{pid}"))
    os.kill(server, signal.SIGSTOP)
    waiting = [line.wire.request(say("a")), line.wire.request(say("b"))]
    os.kill(server, signal.SIGKILL)

    for one in waiting:
        with pytest.raises(TerminalUnreachableError, match="may have run"):
            async with asyncio.timeout(5):
                await one
    await line.wire.wait_closed()
    assert line.losses == ["lost"]
    assert not line.wire.is_open()


async def test_a_lost_connection_takes_no_more_questions(rig: Rig, line: Line) -> None:
    """tmux ends the conversation from its side: the next caller hears it at once."""
    await answer(line, say("ready"))
    rig.tmux("detach-client", "-s", "anchor")
    await until_true(lambda: line.losses == ["lost"])

    with pytest.raises(TerminalUnreachableError, match="the connection to tmux is lost"):
        await answer(line, say("hello"))
    assert rig.tmux("list-sessions", "-F", "#{session_name}") == "anchor"


async def test_closing_tells_who_waits_and_leaves_the_server(rig: Rig, line: Line) -> None:
    waiting = line.wire.request(say("hello"))

    line.wire.close()
    line.wire.close()

    with pytest.raises(TerminalUnreachableError, match="may have run"):
        await waiting
    await line.wire.wait_closed()
    assert line.losses == ["lost"]
    await until_true(lambda: clients(rig) == "")


def clients(rig: Rig) -> str | None:
    """Who is attached; None while the server has no answer, as a dead one never has."""
    try:
        return rig.tmux("list-clients")
    except subprocess.CalledProcessError:
        return None


async def test_a_session_that_is_not_there_is_a_lost_connection(rig: Rig, line: Line) -> None:
    """Its name is taken whole: one that begins alike is not attached to instead."""
    other = await attach(rig, "anch")

    await until_true(lambda: other.losses == ["lost"], deadline=3)
    await other.wire.wait_closed()
    assert not other.wire.is_open()
