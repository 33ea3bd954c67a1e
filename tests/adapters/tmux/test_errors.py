"""tmux's own words, as the tmux that is installed says them."""

import pytest

from sm.adapters.tmux.errors import TmuxError
from sm.adapters.tmux.program import TmuxProgram

from .rig import NO_CONF


@pytest.fixture
async def program(socket: str) -> TmuxProgram:
    """Speaks to a server with one session, ``ada``."""
    program = TmuxProgram(socket=socket, conf=NO_CONF)
    await program.call("new-session", "-d", "-s", "ada", "cat", deadline=5)
    return program


async def refusal(program: TmuxProgram, *command: str) -> TmuxError:
    with pytest.raises(TmuxError) as refused:
        await program.call(*command, deadline=5)
    return refused.value


@pytest.mark.parametrize(
    "command",
    [
        ("kill-pane", "-t", "%99"),
        ("kill-window", "-t", "@99"),
        ("kill-window", "-t", "ada:9"),
        ("kill-session", "-t", "=nobody"),
    ],
    ids=" ".join,
)
async def test_a_pane_window_or_session_that_is_not_there_is_gone(
    program: TmuxProgram, command: tuple[str, ...]
) -> None:
    error = await refusal(program, *command)

    assert (error.is_gone, error.is_duplicate) == (True, False)


@pytest.mark.parametrize(
    "command",
    [
        ("new-session", "-d", "-s", "ada"),
        ("rename-session", "-t", "bob", "ada"),
    ],
    ids=" ".join,
)
async def test_a_session_name_that_is_taken_is_a_duplicate(
    program: TmuxProgram, command: tuple[str, ...]
) -> None:
    await program.call("new-session", "-d", "-s", "bob", "cat", deadline=5)

    error = await refusal(program, *command)

    assert (error.is_gone, error.is_duplicate) == (False, True)


@pytest.mark.parametrize(
    "command",
    [
        ("no-such-command",),
        ("show-buffer", "-b", "can't find pane"),
        ("show-buffer", "-b", "duplicate session"),
    ],
    ids=" ".join,
)
async def test_another_refusal_is_neither_whatever_it_quotes(
    program: TmuxProgram, command: tuple[str, ...]
) -> None:
    """Only what tmux says counts, not the words of ours that it repeats."""
    error = await refusal(program, *command)

    assert command[-1] in str(error)
    assert (error.is_gone, error.is_duplicate) == (False, False)
