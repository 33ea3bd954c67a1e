"""An agent started in the place of one that died: whatever else a person has there stays."""

import os
import signal

from sm.adapters.tmux.server import TmuxTerminal
from sm.core.terminal import Pane

from .rig import ADA, Rig, until, until_true

ANOTHER = ("sh", "-c", "echo started again; exec sleep 1000")


def windows(rig: Rig) -> list[str]:
    """Of the agent's tmux session: what runs in each, and * where its person looks."""
    format_ = "#{pane_current_command}#{?window_active,*,}"
    return rig.tmux("list-windows", "-t", "ada", "-F", format_).splitlines()


async def is_dead(terminal: TmuxTerminal, pane: Pane) -> bool:
    view = await terminal.look(pane.id)
    return view is not None and view.dead


async def expect_written(rig: Rig, text: str) -> None:
    await until_true(lambda: text in rig.raw_log().read_text())


async def test_its_own_pane_is_taken_again(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await terminal.launch(rig.launch())
    os.kill(pane.pid, signal.SIGKILL)
    await until(lambda: is_dead(terminal, pane))

    again = await terminal.relaunch(rig.launch(*ANOTHER))

    assert (again.id, again.session) == (pane.id, "ada")
    assert again.pid != pane.pid
    await expect_written(rig, "started again")


async def test_where_nothing_is_left_a_session_is_made(rig: Rig, terminal: TmuxTerminal) -> None:
    await terminal.launch(rig.launch())
    rig.tmux("kill-session", "-t", "ada")

    again = await terminal.relaunch(rig.launch(*ANOTHER))

    assert again.session == "ada"
    await expect_written(rig, "started again")


async def test_a_persons_own_window_beside_it_stays(rig: Rig, terminal: TmuxTerminal) -> None:
    """The agent gets a window beside it, and the person goes on looking at theirs."""
    pane = await terminal.launch(rig.launch())
    rig.tmux("new-window", "-t", "ada", "tail", "-f", "/dev/null")
    rig.tmux("kill-pane", "-t", pane.id)

    again = await terminal.relaunch(rig.launch(*ANOTHER))

    await until_true(lambda: windows(rig) == ["tail*", "sleep"])
    assert await terminal.find(ADA) == again
    assert again.session == "ada"
    await expect_written(rig, "started again")
    assert await terminal.relaunch(rig.launch()) != again
    assert "tail*" in windows(rig)


async def test_another_program_in_its_pane_stays(rig: Rig, terminal: TmuxTerminal) -> None:
    """The pane is the person's from now on: nothing it shows is recorded, and it can close."""
    pane = await terminal.launch(rig.launch())
    rig.tmux("respawn-pane", "-k", "-t", pane.id, "tail", "-f", "/dev/null")

    again = await terminal.relaunch(rig.launch(*ANOTHER))

    await until_true(lambda: windows(rig) == ["tail*", "sleep"])
    assert again.id != pane.id
    assert await terminal.look(pane.id) is None
    await expect_written(rig, "started again")
    rig.tmux("send-keys", "-t", pane.id, "secret")
    rig.tmux("respawn-pane", "-k", "-t", pane.id, "echo", "not for the log")
    await until_true(lambda: pane.id not in rig.tmux("list-panes", "-a", "-F", "#{pane_id}"))
    assert "not for the log" not in rig.raw_log().read_text()
    assert await terminal.find(ADA) == again


async def test_its_size_is_that_of_whoever_looks_on(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await terminal.launch(rig.launch())
    rig.tmux("new-window", "-d", "-t", "ada", "sleep", "1000")
    rig.tmux("kill-pane", "-t", pane.id)
    inside = f"env -u TMUX tmux -L {rig.socket} attach -t ada"
    rig.tmux("new-session", "-d", "-s", "person", "-x", "100", "-y", "30", inside)
    await until_true(lambda: "ada" in rig.tmux("list-clients", "-F", "#{session_name}"))

    again = await terminal.relaunch(rig.launch())

    view = await terminal.look(again.id)
    assert view is not None
    assert view.width == 100
    noted = (rig.folder / f"{ADA}.sizes").read_text().splitlines()[-1]
    assert f'"cols":100,"rows":{view.height},' in noted
