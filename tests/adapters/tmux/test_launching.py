"""Starting agents: all or nothing, once, and recorded from the first byte."""

import asyncio
import json
from pathlib import Path

import pytest

from sm.adapters.system import ProcessTable
from sm.adapters.tmux.conf import private_conf
from sm.adapters.tmux.server import TmuxTerminal
from sm.core.launch import LaunchFailedError
from sm.core.terminal import Pane

from .rig import ADA, BOB, Rig, shows, until, until_true


def sizes(rig: Rig) -> list[tuple[int, int]]:
    lines = (rig.folder / f"{ADA}.sizes").read_text().splitlines()
    return [(record["cols"], record["rows"]) for record in map(json.loads, lines)]


def command_line(pane: Pane) -> bytes:
    return Path(f"/proc/{pane.pid}/cmdline").read_bytes()


def working_folder(pane: Pane) -> Path:
    return Path(f"/proc/{pane.pid}/cwd").resolve()


async def test_a_launched_pane_is_told_by_its_address_and_its_process(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    pane = await terminal.launch(rig.launch("sleep", "1000"))

    assert pane.socket == rig.tmux("display-message", "-p", "#{socket_path}")
    assert pane.session == "ada"
    await until_true(lambda: command_line(pane) == b"sleep\0001000\0")
    assert pane.started == ProcessTable().started(pane.pid)
    assert await terminal.find(ADA) == pane


async def test_launching_again_finds_the_pane_of_the_first_time(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """As after a crash: the launch was done, but nobody wrote that down."""
    first = await terminal.launch(rig.launch())

    assert await terminal.launch(rig.launch()) == first
    assert len(await terminal.panes()) == 1


async def test_two_launches_at_once_start_one_agent(rig: Rig, terminal: TmuxTerminal) -> None:
    """A launch whose answer was lost may still be on its way when it is tried again."""
    first, second = await asyncio.gather(
        terminal.launch(rig.launch()), terminal.launch(rig.launch())
    )

    assert first == second
    assert rig.tmux("list-sessions", "-F", "#{session_name}").split() == ["_sm_home1", "ada"]


async def test_the_arguments_reach_the_program_as_they_are(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    arguments = [
        "a b",
        "",
        "it's",
        '"',
        "$HOME",
        "~",
        "#{pid}",
        "%H",
        "\\",
        ";",
        "a;",
        "x\ny",
        "🦉",
    ]
    print_all = f'printf "%s|" "$@" > {rig.received}.part; mv {rig.received}.part {rig.received}'

    await terminal.launch(rig.launch("sh", "-c", print_all, "sh", *arguments))

    await until_true(rig.received.exists)
    assert rig.received.read_text() == "|".join(arguments) + "|"


async def test_a_program_without_arguments_is_started_without_a_shell(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    program = rig.folder / "my $HOME; cat"
    program.symlink_to("/bin/cat")

    pane = await terminal.launch(rig.launch(str(program)))

    await until_true(lambda: command_line(pane) == f"{program}\0".encode())


async def test_the_agent_starts_in_its_folder_whatever_its_name(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    folder = rig.folder / "a #{pid} %H #[x] ##y ; $HOME 'q' 🦉"
    folder.mkdir()

    pane = await terminal.launch(rig.launch(cwd=str(folder)))

    await until_true(lambda: working_folder(pane) == folder)


async def test_a_missing_folder_fails_the_launch_and_leaves_nothing(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    with pytest.raises(LaunchFailedError, match="/no/such/folder is not a folder"):
        await terminal.launch(rig.launch(cwd="/no/such/folder"))

    assert rig.tmux("list-sessions", "-F", "#{session_name}") == "_sm_home1"


async def test_a_missing_program_fails_the_launch(rig: Rig, terminal: TmuxTerminal) -> None:
    with pytest.raises(LaunchFailedError, match="/no/such/program"):
        await terminal.launch(rig.launch("/no/such/program", "-x"))


async def test_a_log_that_cannot_be_written_fails_the_launch(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    rig.raw_log().mkdir()

    with pytest.raises(LaunchFailedError, match="log cannot be written"):
        await terminal.launch(rig.launch())


async def test_a_name_taken_by_a_stranger_is_numbered(rig: Rig, terminal: TmuxTerminal) -> None:
    rig.tmux("new-session", "-d", "-s", "ada")
    rig.tmux("new-session", "-d", "-s", "ada-2")

    pane = await terminal.launch(rig.launch(name="ada"))

    assert pane.session == "ada-3"


async def test_the_raw_log_has_the_first_byte_the_program_wrote(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    # It lives on: of one that ends at once tmux may drop what its pipe has not taken yet.
    pane = await terminal.launch(rig.launch("sh", "-c", "printf 'first words'; exec sleep 60"))

    await until_true(lambda: rig.raw_log().read_bytes() == b"first words")
    assert rig.raw_log().stat().st_mode & 0o077 == 0
    assert pane.session == "ada"


async def test_a_log_path_is_taken_literally(rig: Rig, terminal: TmuxTerminal) -> None:
    rig.folder /= "a #{pid} %H 'q' $(x) 🦉"
    rig.folder.mkdir()

    await terminal.launch(rig.launch("sh", "-c", "printf words; exec sleep 60", cwd="/"))
    rig.tmux("resize-window", "-t", "=ada:", "-x", "90", "-y", "20")

    await until_true(lambda: rig.raw_log().read_bytes() == b"words")
    await until_true(lambda: sizes(rig)[-1] == (90, 20))


async def test_more_than_2000_lines_are_kept_without_touching_the_servers_options(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    before = rig.tmux("show-options", "-g") + rig.tmux("show-options", "-gw")
    pane = await terminal.launch(rig.launch("sh", "-c", "seq 1 5000; exec sleep 1000"))
    await until(lambda: shows(terminal, pane, "5000"))

    history = rig.tmux("capture-pane", "-p", "-S", "-", "-t", pane.id).split("\n")

    assert [line for line in history if line] == [str(n) for n in range(1, 5001)]
    assert rig.tmux("show-options", "-g") + rig.tmux("show-options", "-gw") == before
    assert "history-limit 2000" in before


async def test_every_size_of_the_pane_is_recorded(rig: Rig, terminal: TmuxTerminal) -> None:
    """The raw log can only be drawn again by someone who knows how wide the screen was."""
    pane = await rig.start_raw_program(terminal)
    rig.tmux("resize-window", "-t", "=ada:", "-x", "100", "-y", "31")
    await until_true(lambda: sizes(rig)[-1] == (100, 31))
    rig.tmux("split-window", "-t", "=ada:", "sleep", "1000")
    await until_true(lambda: sizes(rig)[-1] == (100, 15))

    records = [json.loads(line) for line in (rig.folder / f"{ADA}.sizes").read_text().splitlines()]

    assert (records[0]["cols"], records[0]["rows"], records[0]["offset"]) == (220, 50, 0)
    assert records[-1]["offset"] == rig.raw_log().stat().st_size > 0
    view = await terminal.look(pane.id)
    assert view is not None
    assert (view.width, view.height, view.in_mode) == (100, 15, False)


async def test_a_pane_split_off_by_a_person_is_not_taken_for_the_agent(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    pane = await terminal.launch(rig.launch())
    rig.tmux("split-window", "-t", "=ada:", "sleep", "1000")

    assert [status.id for status in await terminal.panes()] == [pane.id]


async def test_a_window_shared_with_another_session_is_listed_once(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    pane = await terminal.launch(rig.launch())
    rig.tmux("new-session", "-d", "-t", "=ada", "-s", "aaa-mirror")
    rig.tmux("new-session", "-d", "-t", "=ada", "-s", "zzz-mirror")

    assert [(status.id, status.tmux_session) for status in await terminal.panes()] == [
        (pane.id, "ada")
    ]


async def test_a_server_of_our_own_reads_our_configuration(rig: Rig) -> None:
    conf = rig.folder / "tmux.conf"
    conf.write_text(private_conf(history_limit=12_345))

    terminal = await rig.terminal(conf=conf)
    await terminal.launch(rig.launch())

    assert rig.tmux("show-options", "-gv", "history-limit") == "12345"
    assert rig.tmux("show-options", "-gv", "status-right") == ""
    assert rig.tmux("show-options", "-sv", "exit-empty") == "off"
    assert rig.tmux("show-messages").count("conf") == 0


async def test_two_homes_on_one_server_do_not_see_each_other(rig: Rig) -> None:
    one, two = await rig.terminal("home1"), await rig.terminal("home2")
    pane = await one.launch(rig.launch(session=ADA))
    other = await two.launch(rig.launch(session=BOB, name="bob"))

    assert [status.sm_session for status in await one.panes()] == [ADA]
    assert [status.sm_session for status in await two.panes()] == [BOB]
    assert await two.find(ADA) is None
    assert await two.look(pane.id) is None
    assert await one.look(other.id) is None


async def test_the_same_session_id_in_two_homes_is_two_sessions(rig: Rig) -> None:
    """A copied home must not type into, or kill, the original's agents."""
    one, two = await rig.terminal("home1"), await rig.terminal("home2")
    pane, copy = await one.launch(rig.launch()), await two.launch(rig.launch())

    await two.kill(ADA)

    assert pane.id != copy.id
    assert await two.find(ADA) is None
    assert await one.find(ADA) == pane
