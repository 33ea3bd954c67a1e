"""Looking at agents' panes, naming them and ending them."""

import asyncio
import os
import signal
from contextlib import suppress

import pytest

from sm.adapters.tmux.errors import TmuxError
from sm.adapters.tmux.server import TmuxTerminal
from sm.core.ids import PaneId, SessionId
from sm.core.launch import TerminalUnreachableError
from sm.core.terminal import View

from .rig import ADA, BOB, Rig, until, until_true


async def dead_view(terminal: TmuxTerminal, pane: PaneId) -> View | None:
    view = await terminal.look(pane)
    return view if view is not None and view.dead else None


async def last_view(terminal: TmuxTerminal, pane: PaneId) -> View:
    """The first look at the dead pane."""
    view = await until(lambda: dead_view(terminal, pane))
    assert view is not None
    return view


async def test_a_look_tells_screen_cursor_title_and_size(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await rig.start_raw_program(terminal, r"\x1b]2;a: title; #{pid}\x07\r\n  READY")

    view = await terminal.look(pane.id)

    assert view == View(
        lines=("", "  READY", *[""] * 48),
        cursor_x=7,
        cursor_y=1,
        title="a: title; #{pid}",
        in_mode=False,
        width=220,
        height=50,
        dead=False,
        exit_status=None,
        exit_signal=None,
        pasted="",
        entered="",
        interrupted="",
        session=ADA,
        pid=pane.pid,
    )


async def test_letters_of_all_scripts_are_seen_by_a_daemon_without_a_locale(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    terminal = await rig.terminal()

    pane = await rig.start_raw_program(terminal, r"\x1b]2;\u65e5\u672c\x07\u276f READY")

    view = await terminal.look(pane.id)
    assert view is not None
    assert (view.title, view.lines[0]) == ("日本", "❯ READY")


async def test_an_ended_agent_leaves_its_status(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await terminal.launch(rig.launch("sh", "-c", "exit 3"))

    view = await last_view(terminal, pane.id)

    assert (view.exit_status, view.exit_signal) == (3, None)
    (status,) = await terminal.panes()
    assert (status.id, status.sm_session, status.dead, status.exit_status) == (
        pane.id, ADA, True, 3,
    )  # fmt: skip


async def test_a_killed_agent_leaves_its_signal(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await terminal.launch(rig.launch())
    os.kill(pane.pid, signal.SIGKILL)

    view = await last_view(terminal, pane.id)

    assert (view.exit_status, view.exit_signal) == (None, signal.SIGKILL)


async def test_how_an_agent_ended_is_known_as_soon_as_it_is_dead(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """tmux learns it later than the death itself, and sometimes only when reminded."""
    for _ in range(20):
        pane = await terminal.launch(rig.launch())
        os.kill(pane.pid, signal.SIGKILL)
        assert (await last_view(terminal, pane.id)).exit_signal == signal.SIGKILL
        await terminal.kill(ADA)


async def test_a_pane_that_is_gone_is_none(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await terminal.launch(rig.launch())
    rig.tmux("kill-pane", "-t", pane.id)

    assert await terminal.look(pane.id) is None
    assert await terminal.find(ADA) is None


async def test_a_strangers_pane_is_none(rig: Rig, terminal: TmuxTerminal) -> None:
    stranger = PaneId(rig.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "cat"))

    assert await terminal.look(stranger) is None


async def test_a_server_without_agents_is_empty(terminal: TmuxTerminal) -> None:
    assert await terminal.panes() == []


async def test_a_stopped_server_is_unreachable_not_empty(rig: Rig) -> None:
    terminal = await rig.terminal(deadline=0.2)
    pane = await terminal.launch(rig.launch())
    assert terminal.server is not None
    os.kill(terminal.server.pid, signal.SIGSTOP)

    with pytest.raises(TerminalUnreachableError):
        await terminal.panes()
    with pytest.raises(TerminalUnreachableError):
        await terminal.look(pane.id)
    with pytest.raises(TerminalUnreachableError):
        await terminal.paste(pane.id, "a.1", "x")

    os.kill(terminal.server.pid, signal.SIGCONT)
    await until_true(lambda: terminal.connected)
    assert await terminal.find(ADA) == pane


async def test_after_a_killed_server_the_next_one_is_empty(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """And says that it is another one: its pane ids begin again."""
    before = terminal.server
    pane = await terminal.launch(rig.launch())
    rig.tmux("kill-server")
    await until_true(lambda: terminal.connected and terminal.server != before)

    assert await terminal.panes() == []
    assert await terminal.look(pane.id) is None


async def test_a_pane_of_the_next_server_says_whose_it_is(rig: Rig, terminal: TmuxTerminal) -> None:
    """Its id may be one that belonged to another session before."""
    before = terminal.server
    old = await terminal.launch(rig.launch(session=ADA))
    rig.tmux("kill-server")
    await until_true(lambda: terminal.connected and terminal.server != before)

    new = await terminal.launch(rig.launch(session=BOB, name="bob"))

    view = await terminal.look(old.id)
    assert new.id == old.id
    assert view is not None
    assert view.session == BOB


# --- dumps -------------------------------------------------------------------------------


async def dumped(terminal: TmuxTerminal, pane: PaneId, last_words: bytes) -> bytes | None:
    text = await terminal.dump(pane)
    return text if text is not None and last_words in text else None


async def test_a_dump_holds_thirty_thousand_lines(rig: Rig, terminal: TmuxTerminal) -> None:
    """Far more than tmux keeps by itself, on a server whose global option nobody changed."""
    ask = ("show-options", "-gv", "history-limit")
    before = rig.tmux(*ask)

    pane = await terminal.launch(rig.launch("sh", "-c", "seq 30000; echo THE END; sleep 1000"))
    text = await until(lambda: dumped(terminal, pane.id, b"THE END"))

    assert text is not None
    assert text.decode() == "".join(f"{number}\n" for number in range(1, 30_001)) + "THE END\n"
    assert rig.tmux(*ask) == before == "2000"


async def test_a_dump_has_no_padding_and_wrapped_lines_are_whole(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """It is there to be searched: a word must not be torn by the width of a window."""
    long = "x" * 219 + "needle" + "y" * 600
    script = f"printf '%s\\n' '{long}' 'two   ' '' '\033[31mred\033[0m ❯ 日本'; sleep 1000"
    pane = await terminal.launch(rig.launch("sh", "-c", script))

    text = await until(lambda: dumped(terminal, pane.id, "日本".encode()))

    assert text is not None
    assert text.decode() == f"{long}\ntwo\n\nred ❯ 日本\n"


async def test_a_dump_of_a_dead_agents_pane_tells_its_last_words(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    pane = await terminal.launch(rig.launch("sh", "-c", "echo last words"))
    await last_view(terminal, pane.id)

    assert b"last words\n" in (await terminal.dump(pane.id) or b"")


async def test_a_dump_of_nothing_is_not_a_dump_of_no_pane(rig: Rig, terminal: TmuxTerminal) -> None:
    """Empty, gone, a stranger's and unreachable are different answers."""
    pane = await terminal.launch(rig.launch())
    stranger = PaneId(rig.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "echo theirs; cat"))

    assert await terminal.dump(pane.id) == b"\n"
    assert await terminal.dump(stranger) is None

    rig.tmux("kill-pane", "-t", pane.id)
    assert await terminal.dump(pane.id) is None

    await terminal.close()
    rig.tmux("kill-server")
    with pytest.raises(TerminalUnreachableError):
        await terminal.dump(pane.id)


async def test_a_dump_may_be_of_the_last_lines_alone(rig: Rig, terminal: TmuxTerminal) -> None:
    """However much is on the screen beside the history, and not torn where lines were wrapped."""
    long = "x" * 500
    script = f"seq 3000; echo {long}; seq 3001 3100; echo THE END; sleep 1000"
    pane = await terminal.launch(rig.launch("sh", "-c", script))
    whole = await until(lambda: dumped(terminal, pane.id, b"THE END"))
    assert whole is not None
    lines = whole.splitlines(keepends=True)

    for most in (1, 30, 102, 1000):
        assert await terminal.dump(pane.id, lines=most) == b"".join(lines[-most:])
    assert await terminal.dump(pane.id, lines=10_000) == whole


async def test_a_dump_may_be_asked_of_one_session_alone(rig: Rig, terminal: TmuxTerminal) -> None:
    """A new server counts its panes from %0 again: the same id may be another session's."""
    pane = await terminal.launch(rig.launch("sh", "-c", "echo THE END; sleep 1000"))
    await until(lambda: dumped(terminal, pane.id, b"THE END"))

    assert await terminal.dump(pane.id, of=ADA) == b"THE END\n"
    assert await terminal.dump(pane.id, of=BOB) is None
    with pytest.raises(ValueError, match="not a plain word"):
        await terminal.dump(pane.id, of=SessionId("#{pane_id}"))


async def test_a_dump_of_megabytes_keeps_no_other_session_waiting(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """It is fetched beside the connection that everybody else's questions go through."""
    script = "yes \"$(printf %200s | tr ' ' z)\" | head -n 30000; echo THE END; sleep 1000"
    ada = await terminal.launch(rig.launch("sh", "-c", script))
    bob = await terminal.launch(rig.launch(session=BOB, name="bob"))
    await until(lambda: dumped(terminal, ada.id, b"THE END"))

    dump = asyncio.create_task(terminal.dump(ada.id))
    looks = 0
    while not dump.done():
        assert await terminal.look(bob.id) is not None
        looks += 1

    assert len(dump.result() or b"") > 6_000_000
    assert looks > 1


async def test_two_renames_to_one_name_give_two_names(rig: Rig, terminal: TmuxTerminal) -> None:
    ada = await terminal.launch(rig.launch(session=ADA, name="ada"))
    bob = await terminal.launch(rig.launch(session=BOB, name="bob"))

    assert await terminal.rename(ada.id, "carl") == "carl"
    assert await terminal.rename(bob.id, "carl") == "carl-2"
    assert await terminal.rename(bob.id, "carl") == "carl-2"

    names = {status.sm_session: status.tmux_session for status in await terminal.panes()}
    assert names == {ADA: "carl", BOB: "carl-2"}


async def test_a_new_name_is_the_one_tmux_shows(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await terminal.launch(rig.launch())

    given = await terminal.rename(pane.id, "v1.2: #{pid} größe")

    assert given == "v1_2____pid__größe"
    assert [status.tmux_session for status in await terminal.panes()] == [given]


async def test_a_strangers_session_is_not_renamed(rig: Rig, terminal: TmuxTerminal) -> None:
    stranger = PaneId(rig.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "cat"))

    with pytest.raises(TmuxError, match="can't find pane"):
        await terminal.rename(stranger, "carl")


async def test_killing_one_leaves_the_one_whose_name_begins_alike(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    abc = await terminal.launch(rig.launch(session=ADA, name="abc"))
    abcd = await terminal.launch(rig.launch(session=BOB, name="abcd"))

    await terminal.kill(ADA)
    await terminal.kill(ADA)

    assert await terminal.look(abc.id) is None
    assert await terminal.find(BOB) == abcd


async def test_killing_ends_an_agent_whose_window_somebody_shares(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    await terminal.launch(rig.launch())
    rig.tmux("new-session", "-d", "-t", "=ada", "-s", "mirror")

    await terminal.kill(ADA)

    assert await terminal.panes() == []


async def test_a_mode_is_seen_and_left(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await rig.start_raw_program(terminal)
    rig.tmux("copy-mode", "-t", pane.id)
    view = await terminal.look(pane.id)
    assert view is not None
    assert view.in_mode

    await terminal.leave_mode(pane.id)
    await terminal.leave_mode(pane.id)

    view = await terminal.look(pane.id)
    assert view is not None
    assert not view.in_mode
    assert not rig.received.read_bytes()


async def test_copy_mode_is_not_left_while_something_is_selected(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """It would be lost to whoever selects it."""
    pane = await rig.start_raw_program(terminal)
    rig.tmux("copy-mode", "-t", pane.id)
    rig.tmux("send-keys", "-t", pane.id, "-X", "begin-selection")

    await terminal.leave_mode(pane.id)

    view = await terminal.look(pane.id)
    assert view is not None
    assert view.in_mode

    rig.tmux("send-keys", "-t", pane.id, "-X", "clear-selection")
    await terminal.leave_mode(pane.id)

    view = await terminal.look(pane.id)
    assert view is not None
    assert not view.in_mode


async def test_a_menu_that_cannot_be_left_is_still_told(rig: Rig, terminal: TmuxTerminal) -> None:
    pane = await terminal.launch(rig.launch())
    rig.tmux("clock-mode", "-t", pane.id)

    await terminal.leave_mode(pane.id)

    view = await terminal.look(pane.id)
    assert view is not None
    assert view.in_mode


async def test_a_living_pane_is_never_gone_while_connections_are_lost(
    rig: Rig, terminal: TmuxTerminal
) -> None:
    """Whatever is killed: a view or "unreachable"."""
    pane = await terminal.launch(rig.launch())
    returns: list[str] = []
    terminal.notify(connected=lambda: returns.append("back"), lost=lambda: None)
    answers: list[View | None] = []
    for kills in range(1, 4):
        os.kill(int(rig.tmux("list-clients", "-F", "#{client_pid}")), signal.SIGKILL)
        async with asyncio.timeout(10):
            while len(returns) < kills:
                with suppress(TerminalUnreachableError):
                    answers.append(await terminal.look(pane.id))

    assert answers
    assert None not in answers


async def test_a_window_that_is_closed_is_told_of(rig: Rig, terminal: TmuxTerminal) -> None:
    """Also one of a session nobody is attached to; a window that stays is not."""
    closed = asyncio.Event()
    terminal.notify(connected=lambda: None, lost=lambda: None, closed=closed.set)
    pane = await terminal.launch(rig.launch())
    # The placeholder's window was closed at the launch.
    await closed.wait()
    closed.clear()
    rig.tmux("split-window", "-t", pane.id, "sleep", "1000")
    assert await terminal.look(pane.id) is not None
    assert not closed.is_set()

    rig.tmux("kill-window", "-t", pane.id)

    await asyncio.wait_for(closed.wait(), 10)
