"""The conversation with tmux: answers in order, losses told, nothing sent twice."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from sm.adapters.tmux.control import ControlClient
from sm.adapters.tmux.errors import TmuxError
from sm.adapters.tmux.program import TmuxProgram
from sm.adapters.tmux.server import TmuxTerminal
from sm.core.launch import TerminalUnreachableError

from .rig import NO_CONF, Rig, until_true


def client_pid(rig: Rig) -> int:
    return int(rig.tmux("list-clients", "-F", "#{client_pid}"))


def server_pid(terminal: TmuxTerminal) -> int:
    assert terminal.server is not None
    return terminal.server.pid


async def test_a_missing_server_is_started(rig: Rig) -> None:
    terminal = await rig.terminal()

    assert terminal.connected
    assert rig.tmux("list-sessions", "-F", "#{session_name}") == "_sm_home1"


async def test_each_of_many_callers_gets_its_own_answer(terminal: TmuxTerminal) -> None:
    words = [f"word-{n}" for n in range(200)]

    answers = await asyncio.gather(
        *(terminal.control.run("display-message", "-p", word) for word in words)
    )

    assert answers == [[word] for word in words]


async def test_a_refused_command_raises_what_tmux_said(terminal: TmuxTerminal) -> None:
    with pytest.raises(TmuxError, match="can't find pane: %999"):
        await terminal.control.run("capture-pane", "-p", "-t", "%999")

    assert await terminal.control.run("display-message", "-p", "still in step") == ["still in step"]


async def test_a_line_that_is_no_command_is_refused(terminal: TmuxTerminal) -> None:
    with pytest.raises(TmuxError, match="unknown command"):
        await terminal.control.run("no-such-command")

    assert await terminal.control.run("display-message", "-p", "still in step") == ["still in step"]


async def test_a_list_stops_at_its_first_failure(terminal: TmuxTerminal) -> None:
    with pytest.raises(TmuxError):
        await terminal.control.run_list(
            ("set-option", "-s", "@x", "first"),
            ("kill-pane", "-t", "%999"),
            ("set-option", "-s", "@x", "last"),
        )

    assert await terminal.control.run("show-option", "-s", "-v", "@x") == ["first"]


async def test_a_caller_that_gave_up_does_not_shift_the_answers(terminal: TmuxTerminal) -> None:
    impatient = asyncio.create_task(terminal.control.run("display-message", "-p", "unwanted"))
    await asyncio.sleep(0)
    impatient.cancel()

    assert await terminal.control.run("display-message", "-p", "wanted") == ["wanted"]


async def test_a_killed_connection_comes_back_by_itself(rig: Rig, terminal: TmuxTerminal) -> None:
    changes: list[str] = []
    terminal.notify(
        connected=lambda: changes.append("connected"), lost=lambda: changes.append("lost")
    )

    os.kill(client_pid(rig), signal.SIGKILL)
    await until_true(lambda: changes == ["lost", "connected"])

    assert await terminal.control.run("display-message", "-p", "back") == ["back"]


async def test_a_command_cut_off_from_its_answer_is_reported_and_never_repeated(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """The client dies after the command was sent: it may have run, so it is not sent again."""
    client, server = client_pid(rig), server_pid(terminal)
    os.kill(server, signal.SIGSTOP)
    try:
        sent = asyncio.create_task(terminal.control.run("set-option", "-s", "-a", "@x", "once."))
        await asyncio.sleep(0)
        os.kill(client, signal.SIGKILL)
        async with asyncio.timeout(3):
            with pytest.raises(TerminalUnreachableError, match="may have run"):
                await sent
    finally:
        os.kill(server, signal.SIGCONT)

    shown = await terminal.control.run("show-option", "-s", "-v", "-q", "@x")
    assert shown in ([], ["once."])


async def test_a_stopped_server_is_unreachable_within_the_deadline(rig: Rig) -> None:
    """And when it goes on, so do we."""
    terminal = await rig.terminal(deadline=0.3)
    began = asyncio.get_running_loop().time()
    os.kill(server_pid(terminal), signal.SIGSTOP)
    try:
        for _ in range(2):
            with pytest.raises(TerminalUnreachableError):
                await terminal.control.run("list-panes", "-a")
        assert asyncio.get_running_loop().time() - began < 1.5
    finally:
        os.kill(server_pid(terminal), signal.SIGCONT)

    await until_true(lambda: terminal.connected)
    assert await terminal.control.run("display-message", "-p", "back") == ["back"]


async def test_closing_leaves_the_server_running(rig: Rig, terminal: TmuxTerminal) -> None:
    await terminal.close()

    assert rig.tmux("list-sessions", "-F", "#{session_name}") == "_sm_home1"
    assert rig.tmux("list-clients") == ""


async def test_a_new_server_has_none_of_our_secrets_in_its_environment(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SM_SESSION_TOKEN", "secret")

    await rig.terminal()

    assert "SM_SESSION_TOKEN" not in rig.tmux("show-environment", "-g")


def apart_with(rig: Rig, script: str) -> tuple[ControlClient, Path]:
    """A connection whose server is started by a program of the test's, and what that noted."""
    noted, program = rig.folder / "noted", rig.folder / "apart"
    program.write_text(f'#!/bin/sh\necho "$@" >> {noted}\n{script}\n')
    program.chmod(0o700)
    tmux = TmuxProgram(socket=rig.socket, conf=NO_CONF)
    return ControlClient(tmux, anchor="_sm_home1", apart=(str(program), "--")), noted


async def test_a_missing_server_is_started_apart(rig: Rig) -> None:
    """By whatever keeps it from ending with us; one that runs is only connected to."""
    control, noted = apart_with(rig, 'shift; exec "$@"')
    for _ in range(2):
        await control.start()
        assert control.connected
        await control.close()

    [line] = noted.read_text().splitlines()
    assert line.startswith(f"-- tmux -u -L {rig.socket} ")


async def test_a_server_that_cannot_be_started_apart_is_started_all_the_same(rig: Rig) -> None:
    """And the next one is tried apart again: what was wrong at boot need not stay so."""
    control, noted = apart_with(rig, "echo Failed to connect to bus >&2; exit 1")
    await control.start()
    try:
        assert control.connected
        rig.tmux("kill-server")
        await until_true(lambda: not control.connected)
        await until_true(lambda: control.connected)
    finally:
        await control.close()

    assert len(noted.read_text().splitlines()) >= 2


async def test_a_program_that_is_not_there_keeps_no_server_from_starting(rig: Rig) -> None:
    tmux = TmuxProgram(socket=rig.socket, conf=NO_CONF)
    control = ControlClient(tmux, anchor="_sm_home1", apart=("/no/such/program", "--"))
    await control.start()
    try:
        assert control.connected
    finally:
        await control.close()


async def test_a_server_that_does_not_come_to_its_end_is_passed_by(terminal: TmuxTerminal) -> None:
    """tmux waits for its last client; one that is stopped must not keep every session away."""
    program = terminal.control.program
    attach = program.argv("-C", "attach", "-t", "_sm_home1")
    pipe = asyncio.subprocess.PIPE
    client = await asyncio.create_subprocess_exec(*attach, stdin=pipe, stdout=pipe)
    assert client.stdout is not None
    await client.stdout.readline()
    old = server_pid(terminal)
    client.send_signal(signal.SIGSTOP)
    try:
        await program.call("kill-server", deadline=5)

        await until_true(lambda: terminal.connected and server_pid(terminal) != old, deadline=20)

        assert Path(f"/proc/{old}").exists(), "it still waits"
    finally:
        client.kill()
        await client.communicate()


async def test_what_a_killed_daemon_left_attached_is_ended(terminal: TmuxTerminal) -> None:
    """tmux 3.3a may have an answer for it that nobody reads, and would wait before it exits."""
    program = terminal.control.program
    attach = program.argv("-C", "attach", "-E", "-f", "no-output,ignore-size", "-t", "=_sm_home1")
    pipe = asyncio.subprocess.PIPE
    left = await asyncio.create_subprocess_exec(*attach, stdin=pipe, stdout=pipe)
    assert left.stdout is not None
    await left.stdout.readline()
    old = server_pid(terminal)

    await terminal.control.close()
    await terminal.control.start()

    assert terminal.connected
    assert server_pid(terminal) == old
    assert await left.wait() == -signal.SIGKILL
