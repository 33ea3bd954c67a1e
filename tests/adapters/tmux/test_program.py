"""tmux called as a program: what it did, what it refused, and that it could not be reached."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from sm.adapters.tmux.errors import TmuxError
from sm.adapters.tmux.program import TmuxProgram, clean_environment
from sm.core.launch import TerminalUnreachableError

from .rig import NO_CONF, Rig, until

NEW_ADA = ("new-session", "-d", "-s", "ada", "cat")


@pytest.fixture
def program(rig: Rig) -> TmuxProgram:
    return TmuxProgram(socket=rig.socket, conf=NO_CONF)


async def nobody_listens(program: TmuxProgram) -> bool:
    """For a moment a dying server still takes calls, and drops them: unreachable as well."""
    with pytest.raises(TerminalUnreachableError) as told:
        await program.call("list-sessions", deadline=5)
    return str(told.value).startswith("no server running")


async def test_a_call_is_done_when_it_returns(rig: Rig, program: TmuxProgram) -> None:
    await program.call(*NEW_ADA, deadline=5)

    assert rig.tmux("list-sessions", "-F", "#{session_name}") == "ada"


async def test_an_answer_is_fetched_byte_by_byte(program: TmuxProgram) -> None:
    await program.call(*NEW_ADA, deadline=5)
    question = ("display-message", "-p", "-t", "ada", "❯ #{session_name} ")

    assert await program.fetch(*question, deadline=5) == "❯ ada \n".encode()
    assert await program.call(*question, deadline=5) == "❯ ada "


async def test_a_server_that_never_was_is_unreachable(program: TmuxProgram) -> None:
    with pytest.raises(TerminalUnreachableError, match="error connecting"):
        await program.call("list-sessions", deadline=5)


async def test_a_server_that_is_gone_is_unreachable(program: TmuxProgram) -> None:
    """It ends under the call, and leaves a socket behind at which nobody answers."""
    await program.call(*NEW_ADA, deadline=5)

    with pytest.raises(TerminalUnreachableError, match="server exited"):
        await program.call("run-shell", "kill -9 #{pid}", deadline=5)
    await until(lambda: nobody_listens(program))


async def test_a_server_that_does_not_answer_is_unreachable(rig: Rig, program: TmuxProgram) -> None:
    """Within the deadline; and when it goes on, it can be reached again."""
    await program.call(*NEW_ADA, deadline=5)
    server = int(rig.tmux("display-message", "-p", "#{pid}"))
    os.kill(server, signal.SIGSTOP)
    try:
        async with asyncio.timeout(2):
            with pytest.raises(TerminalUnreachableError, match=r"did not answer within 0\.1 s"):
                await program.call("list-sessions", deadline=0.1)
    finally:
        os.kill(server, signal.SIGCONT)

    await program.call("list-sessions", deadline=5)


async def test_a_missing_tmux_is_unreachable_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(TerminalUnreachableError, match=r"not installed\. Install it"):
        await TmuxProgram(socket="sm-none", conf=NO_CONF).call("list-sessions", deadline=5)


async def test_a_refusal_is_in_tmuxs_own_words(program: TmuxProgram) -> None:
    """tmux was reached and said no: that is not the same as not being there."""
    await program.call(*NEW_ADA, deadline=5)

    with pytest.raises(TmuxError) as refused:
        await program.call("kill-pane", "-t", "%99", deadline=5)
    assert str(refused.value) == "can't find pane: %99"


async def test_only_the_call_that_starts_the_server_reads_the_configuration(rig: Rig) -> None:
    """On a server that runs already, nothing a person has set since is changed."""
    conf = rig.folder / "tmux.conf"
    conf.write_text("set -s @read yes\n")
    program = TmuxProgram(socket=rig.socket, conf=conf)

    await program.call(*NEW_ADA, deadline=5)
    assert rig.tmux("show-options", "-sqv", "@read") == "yes"

    rig.tmux("set-option", "-s", "@read", "changed")
    await program.call("new-session", "-d", "cat", deadline=5)
    assert rig.tmux("show-options", "-sqv", "@read") == "changed"


def test_what_is_private_to_sm_or_to_our_own_tmux_is_not_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An agent gets a person's environment, never sm's tokens nor a tmux it does not live in."""
    private = {"SM_TOKEN", "SM_HOME", "TMUX", "TMUX_PANE"}
    for name in (*private, "TMUX_TMPDIR", "SMTP_HOST"):
        monkeypatch.setenv(name, "/tmp")

    clean = clean_environment()

    assert set(os.environ) - set(clean) >= private
    assert clean["TMUX_TMPDIR"] == clean["SMTP_HOST"] == "/tmp"
    assert clean["PATH"] == os.environ["PATH"]


async def test_asking_for_a_server_starts_none(rig: Rig, program: TmuxProgram) -> None:
    """Before the first there is none; one that is stopped is one."""
    assert not await program.is_served(deadline=5)
    assert not await program.is_served(deadline=5)

    await program.call(*NEW_ADA, deadline=5)
    assert await program.is_served(deadline=5)
    server = int(rig.tmux("display-message", "-p", "#{pid}"))
    os.kill(server, signal.SIGSTOP)
    try:
        assert await program.is_served(deadline=0.1)
    finally:
        os.kill(server, signal.SIGCONT)


async def test_a_folder_that_cannot_be_used_is_no_missing_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tmux says what is wrong with it when it is told to start one."""
    folder = tmp_path / f"tmux-{os.getuid()}"
    folder.mkdir(mode=0o755)
    folder.chmod(0o777)
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))

    assert await TmuxProgram(socket="sm-none", conf=NO_CONF).is_served(deadline=5)
