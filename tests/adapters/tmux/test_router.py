"""Panes of other people's servers: reached, typed into and let go, and nothing else is touched."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from sm.adapters.system import ProcessTable
from sm.adapters.tmux.router import TmuxRouter
from sm.adapters.tmux.server import TmuxTerminal
from sm.core.adoption import Spot
from sm.core.ids import PaneId
from sm.core.launch import ServerGoneError, TerminalUnreachableError
from sm.core.terminal import Server
from tests.kit.tmux import Tmux, private_tmux, socket_path

from .rig import ADA, BOB, BRACKETED, RAW_PROGRAM, Rig, until, until_true

pytestmark = pytest.mark.anyio


@pytest.fixture
def theirs() -> Iterator[Tmux]:
    """A person's own server."""
    with private_tmux() as tmux:
        yield tmux


@pytest.fixture
async def router(terminal: TmuxTerminal) -> AsyncIterator[TmuxRouter]:
    made = TmuxRouter(terminal, home="home1", started=ProcessTable().started)
    yield made
    await made.close()


class Desk:
    """A pane of that server in which a program notes down what it gets."""

    def __init__(self, tmux: Tmux, folder: Path) -> None:
        self.tmux = tmux
        self.folder = folder
        self.socket = str(socket_path(tmux.name))
        self.received = folder / "received"
        self.raw, self.sizes = folder / "raw", folder / "sizes"
        program = ["python3", "-I", "-S", str(RAW_PROGRAM), str(self.received), BRACKETED]
        self.pane = tmux.start(program, environment={"PATH": "/usr/bin:/bin"}, cwd=folder)

    @property
    def id(self) -> PaneId:
        return PaneId(f"{self.pane}@{self.socket}")

    async def ready(self) -> None:
        await until_true(lambda: "READY" in self.tmux.screen(self.pane))

    async def take(self, router: TmuxRouter) -> bool:
        return await router.take(self.id, ADA, str(self.raw), str(self.sizes))

    def options(self) -> list[str]:
        """Every option there is, and the session's environment."""
        scopes = (["-s"], ["-g"], ["-t"], ["-w", "-t"], ["-p", "-t"])
        targets = [[*s, self.pane] if "-t" in s else s for s in scopes]
        shown = [self.tmux.run("show-options", *target) for target in targets]
        return [*shown, self.tmux.run("show-environment", "-t", self.pane)]


@pytest.fixture
async def desk(theirs: Tmux, tmp_path: Path) -> Desk:
    made = Desk(theirs, tmp_path)
    await made.ready()
    return made


async def examined(router: TmuxRouter, target: str, socket: str | None) -> Spot:
    spot = await router.examine(target, socket)
    assert spot is not None
    return spot


async def test_a_pane_is_examined_without_a_touch(router: TmuxRouter, desk: Desk) -> None:
    """By its id or by any target; no client, no option."""
    before = desk.options()

    spot = await examined(router, desk.pane, desk.socket)

    assert (spot.pane, spot.socket, spot.pid) == (desk.id, desk.socket, desk.tmux.pid(desk.pane))
    assert (spot.owner, spot.dead, spot.piped, spot.command) == (None, False, False, "python3")
    assert await router.examine("0:0.0", desk.socket) == spot
    assert (desk.options(), desk.tmux.run("list-clients")) == (before, "")


async def test_what_is_not_there_is_told_apart(router: TmuxRouter, desk: Desk) -> None:
    """No such pane is None; no such server is unreachable, and none is started there."""
    assert await router.examine("%99", desk.socket) is None
    assert await router.examine("nobody:1.0", desk.socket) is None
    nowhere = desk.folder / "nowhere"
    with pytest.raises(TerminalUnreachableError):
        await router.examine("%0", str(nowhere))
    assert not nowhere.exists()


async def test_a_pane_is_taken_typed_into_and_let_go(router: TmuxRouter, desk: Desk) -> None:
    """Afterwards nothing tells that we were there."""
    desk.tmux.run("set-environment", "-t", desk.pane, "DISPLAY", ":7")
    before = desk.options()

    assert await desk.take(router)
    assert await desk.take(router)
    view = await router.look(desk.id)
    await router.paste(desk.id, "m1.1", "hello")
    await router.paste(desk.id, "m1.1", "hello")
    await router.press(desk.id, "Enter", option="@sm_entered", mark="m1.1.1")
    await until_true(lambda: b"\r" in desk.received.read_bytes())

    assert view is not None
    assert view.session == ADA
    assert desk.received.read_bytes() == b"\x1b[200~hello\x1b[201~\r"
    client = desk.tmux.run("list-clients", "-F", "#{client_control_mode} #{client_flags}")
    assert client == "1 attached,focused,control-mode,ignore-size,no-output,UTF-8"
    [changed] = [now for now, was in zip(desk.options(), before, strict=True) if now != was]
    assert all(line.startswith("@sm_") for line in changed.splitlines())

    await router.release(desk.id, ADA)

    assert desk.options() == before
    await until_true(lambda: desk.tmux.run("list-clients") == "")
    assert desk.tmux.run("list-sessions", "-F", "#{session_name}") == "0"
    assert not (await examined(router, desk.pane, desk.socket)).piped


async def test_its_output_is_kept_from_now_on(router: TmuxRouter, desk: Desk) -> None:
    """With the size it has; a path may hold what tmux or a shell would read as their own."""
    desk.raw = desk.folder / "a #{pid} %H 'b'"
    await desk.take(router)

    await router.paste(desk.id, "m1.1", "x")
    await router.press(desk.id, "Enter", option="@sm_entered", mark="m1.1.1")
    desk.tmux.run("send-keys", "-t", desk.pane, "-l", "y")

    await until_true(lambda: desk.raw.exists())
    assert '"cols":120,"rows":40,"offset":0' in desk.sizes.read_text()
    assert desk.raw.stat().st_mode & 0o077 == 0


async def test_a_new_size_is_noted_with_its_place_in_the_log(
    router: TmuxRouter, desk: Desk
) -> None:
    """A person splits the window beside it; also while nobody was connected."""
    await desk.take(router)
    desk.tmux.run("split-window", "-d", "-h", "-l", "40", "-t", desk.pane, "sleep 100")

    await until_true(lambda: '"cols":79,"rows":40' in desk.sizes.read_text())

    await router.close()
    desk.tmux.run("resize-pane", "-t", desk.pane, "-x", "50")
    await router.look(desk.id)
    await until_true(lambda: '"cols":50,"rows":40' in desk.sizes.read_text())
    await router.look(desk.id)
    assert len(desk.sizes.read_text().splitlines()) <= 5


async def test_somebody_elses_pipe_is_left_alone(router: TmuxRouter, desk: Desk) -> None:
    """tmux can hand a pane's output on once; neither taking nor letting go closes it."""
    desk.tmux.run("pipe-pane", "-t", desk.pane, f"cat >> {desk.folder / 'theirs'}")
    assert (await examined(router, desk.pane, desk.socket)).piped

    await desk.take(router)
    await router.release(desk.id, ADA)

    assert (await examined(router, desk.pane, desk.socket)).piped
    assert desk.raw.read_bytes() == b""


async def test_a_pane_of_another_session_is_not_taken(router: TmuxRouter, desk: Desk) -> None:
    """Whoever tagged it first has it; letting go is for its owner alone."""
    await desk.take(router)

    assert not await router.take(desk.id, BOB, str(desk.raw), str(desk.sizes))
    await router.release(desk.id, BOB)

    spot = await examined(router, desk.pane, desk.socket)
    assert (spot.owner, spot.is_ours) == (ADA, True)


async def test_the_current_window_stays_the_current_one(router: TmuxRouter, desk: Desk) -> None:
    """A person looks at something else in the same session."""
    desk.tmux.run("new-window", "-t", "0:", "sleep 100")
    before = desk.tmux.run("display-message", "-p", "-t", "0:", "#{window_index}.#{pane_index}")

    await desk.take(router)
    await router.look(desk.id)

    now = desk.tmux.run("display-message", "-p", "-t", "0:", "#{window_index}.#{pane_index}")
    assert now == before == "1.0"


async def test_two_servers_panes_are_never_confused(
    router: TmuxRouter, desk: Desk, terminal: TmuxTerminal, rig: Rig
) -> None:
    """Both count from %0."""
    own = await terminal.launch(rig.launch(session=BOB))
    await desk.take(router)

    ours, other = await router.look(own.id), await router.look(desk.id)

    assert ours is not None
    assert other is not None
    assert (ours.session, other.session) == (BOB, ADA)
    assert await router.look(PaneId(f"{own.id}@{desk.socket}")) is None or own.id == desk.pane


async def test_a_pane_of_another_server_is_dumped_if_it_was_taken(
    router: TmuxRouter, desk: Desk
) -> None:
    assert await router.dump(desk.id) is None
    await desk.take(router)

    assert await router.dump(desk.id) == b"READY\n"
    assert await router.dump(desk.id, of=BOB) is None
    assert await router.dump(desk.id, lines=1) == b"READY\n"


async def test_a_lost_connection_is_made_again(router: TmuxRouter, desk: Desk) -> None:
    """A person may detach every client, or move the pane to another session."""
    await desk.take(router)
    desk.tmux.run("new-session", "-d", "-s", "other", "sleep 100")
    desk.tmux.run("detach-client", "-s", "0")
    assert await router.look(desk.id) is not None

    desk.tmux.run("join-pane", "-d", "-s", desk.pane, "-t", "other:")

    assert await router.look(desk.id) is not None
    assert desk.tmux.run("list-sessions", "-F", "#{session_name}") == "other"


async def test_a_pane_that_is_gone_is_none_and_a_server_that_is_gone_is_unreachable(
    router: TmuxRouter, desk: Desk
) -> None:
    """Two different answers."""
    await desk.take(router)
    desk.tmux.run("new-session", "-d", "sleep 100")
    desk.tmux.run("kill-pane", "-t", desk.pane)

    assert await router.look(desk.id) is None
    await router.release(desk.id, ADA)

    desk.tmux.run("kill-server")
    with pytest.raises(TerminalUnreachableError):
        await router.look(desk.id)


async def test_a_look_at_what_was_let_go_leaves_no_client_behind(
    router: TmuxRouter, desk: Desk
) -> None:
    """A person asks for the screen of a session that is over."""
    await desk.take(router)
    await router.release(desk.id, ADA)

    assert await router.look(desk.id) is None

    await until_true(lambda: desk.tmux.run("list-clients") == "")


async def test_a_pane_of_our_own_server_is_taken_there(
    router: TmuxRouter, terminal: TmuxTerminal, rig: Rig
) -> None:
    """A person started an agent beside ours: its id carries no server."""
    pane = rig.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "sleep", "100")
    command = ("display-message", "-p", "-t", pane, "#{pane_current_command}")
    await until_true(lambda: rig.tmux(*command) == "sleep")

    spot = await examined(router, pane, terminal.socket_path)
    assert spot == await router.examine(pane, None)
    assert spot.pane == pane
    assert await router.take(spot.pane, ADA, str(rig.folder / "raw"), str(rig.folder / "sizes"))
    await router.release(spot.pane, ADA)
    assert (await examined(router, pane, None)).owner is None


# --- which server answers ---------------------------------------------------------------------


async def test_each_pane_is_told_the_server_it_is_on(
    rig: Rig, router: TmuxRouter, desk: Desk
) -> None:
    """Ours, and a person's: by process, start and socket."""
    ours, theirs = await router.server_of(PaneId("%0")), await router.server_of(desk.id)

    asked = ("display-message", "-p", "#{pid} #{start_time} #{socket_path}")
    assert f"{ours.pid} {ours.started} {ours.socket_path}" == rig.tmux(*asked)
    assert f"{theirs.pid} {theirs.started} {theirs.socket_path}" == desk.tmux.run(*asked)


async def test_after_its_end_our_server_is_another(rig: Rig, router: TmuxRouter) -> None:
    """We start one anew; asked at once, the answer is the new one's."""
    before = await router.server_of(PaneId("%0"))

    rig.tmux("kill-server")
    after = await until_other(router, before)

    table = ProcessTable()
    assert after.pid != before.pid
    assert table.started(before.pid) is None
    assert table.started(after.pid) is not None


async def until_other(router: TmuxRouter, before: Server) -> Server:
    """The connection may be lost in the middle of the first question."""

    async def ask() -> Server | None:
        try:
            now = await router.server_of(PaneId("%0"))
        except TerminalUnreachableError:
            return None
        return now if now != before else None

    found = await until(ask)
    assert found is not None
    return found


async def test_a_persons_server_that_ended_is_certainly_gone(
    router: TmuxRouter, desk: Desk
) -> None:
    """Nobody listens on its socket: the kernel says so."""
    desk.tmux.run("kill-server")

    async def is_gone() -> bool:
        try:
            await router.server_of(desk.id)
        except ServerGoneError:
            return True
        except TerminalUnreachableError:
            # On its way out it still takes connections, and answers none of them.
            return False
        return False

    assert await until(is_gone)


async def test_a_socket_that_was_removed_is_no_proof(router: TmuxRouter, desk: Desk) -> None:
    """Its server may be well, with everything in it."""
    pid, socket = int(desk.tmux.run("display-message", "-p", "#{pid}")), Path(desk.socket)
    socket.unlink()
    try:
        with pytest.raises(TerminalUnreachableError) as refused:
            await router.server_of(desk.id)
        assert not isinstance(refused.value, ServerGoneError)
    finally:
        # tmux makes its socket anew when told so.
        os.kill(pid, signal.SIGUSR1)
        await until_true(socket.exists)
