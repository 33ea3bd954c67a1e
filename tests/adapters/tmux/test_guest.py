"""A guest's connection: made when needed, and honest about what is missing."""

import asyncio
import os
import signal

import pytest

from sm.adapters.tmux.errors import TmuxError
from sm.adapters.tmux.guest import GuestClient
from sm.adapters.tmux.program import TmuxProgram
from sm.core.launch import TerminalUnreachableError
from tests.kit.tmux import private_tmux, socket_path

from .rig import NO_CONF, until_true

pytestmark = pytest.mark.anyio


def guest(name: str, pane: str, *, deadline: float = 5.0) -> GuestClient:
    program = TmuxProgram(socket=str(socket_path(name)), conf=NO_CONF)
    return GuestClient(program, pane, deadline=deadline)


async def test_it_connects_at_the_first_question_and_leaves_when_told() -> None:
    """Until then nobody notices it; several questions at once share one connection."""
    with private_tmux() as tmux:
        tmux.run("new-session", "-d", "sleep 100")
        client = guest(tmux.name, "%0")
        await client.start()
        assert (client.connected, client.server, tmux.run("list-clients")) == (False, None, "")

        answers = await asyncio.gather(
            *(client.run("display-message", "-p", str(n)) for n in range(3))
        )

        assert answers == [["0"], ["1"], ["2"]]
        assert client.connected
        assert len(tmux.run("list-clients").splitlines()) == 1
        await client.close()
        await until_true(lambda: tmux.run("list-clients") == "")


async def test_a_pane_that_is_not_there_is_said_as_tmux_says_it() -> None:
    """So that a look at it is "gone", not "unreachable"."""
    with private_tmux() as tmux:
        tmux.run("new-session", "-d", "sleep 100")
        with pytest.raises(TmuxError) as refused:
            await guest(tmux.name, "%99").run("list-sessions")

    assert refused.value.is_gone


async def test_no_server_is_unreachable_and_none_is_started() -> None:
    """A guest builds no house."""
    with pytest.raises(TerminalUnreachableError):
        await guest("sm-test-nobody", "%0").run("list-sessions")

    assert not socket_path("sm-test-nobody").exists()


async def test_a_server_that_does_not_answer_is_unreachable() -> None:
    """The connection is given up: what waits in it must not run later."""
    with private_tmux() as tmux:
        tmux.run("new-session", "-d", "sleep 100")
        client = guest(tmux.name, "%0", deadline=0.5)
        await client.run("list-sessions")
        server = int(tmux.run("display-message", "-p", "#{pid}"))
        os.kill(server, signal.SIGSTOP)
        try:
            with pytest.raises(TerminalUnreachableError, match="may have run"):
                await client.run("list-sessions")
        finally:
            os.kill(server, signal.SIGCONT)
        assert not client.connected
        await client.close()
