"""tmux as the engine's terminal.

Panes are addressed by tmux's own ids and belong to us only by their tags: a pane without the tag
of this home is never shown, typed into or killed. "Unreachable" is raised, "gone" is None.
"""

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path
from typing import TypeVar

from sm.adapters.tmux.control import ControlClient
from sm.adapters.tmux.errors import TmuxError
from sm.adapters.tmux.formats import (
    HOME,
    LISTED,
    LOGGED,
    PANE,
    PASTED,
    RAW,
    SERVER,
    SESSION,
    SIZES,
    TAGS,
    VIEWED,
    both,
    equal,
    is_untold,
    ours,
    read_listed,
    read_server,
    read_view,
    typable,
)
from sm.adapters.tmux.guest import GuestClient
from sm.adapters.tmux.launching import (
    COLS,
    ROWS,
    launch_list,
    respawn_list,
    tmux_name,
    window_list,
)
from sm.adapters.tmux.program import TmuxProgram
from sm.adapters.tmux.quote import Command, when
from sm.core.ids import PaneId, SessionId
from sm.core.launch import LaunchFailedError, PaneLaunch, TerminalUnreachableError
from sm.core.terminal import Pane, PaneStatus, Server, View

T = TypeVar("T")

ANEW = b"\x1b[!p\x1b[?1049l\x1b[m\x1b[H\x1b[2J"
"""In a log that goes on: tmux begins a new agent's screen empty, whatever the old one left on."""

REAPING_PAUSES = (0.005, 0.02, 0.1, 0.3)
"""How long tmux is given, again and again, to learn how a process ended; it sends no event."""

CLOSED = ("%unlinked-window-close", "%window-close")
ATTACHED = f"#{{{HOME}}} #{{client_name}}"
"""Of a client: whose session it looks at. Our own connection's carries no tag."""
SHOWN_FOR = "5000"
"""Milliseconds; the first key ends it, and reaches the agent all the same."""
DUMPED_WITHIN = 10.0
"""tmux takes about 1 ms for 1,000 lines."""


class TmuxTerminal:
    """One tmux server, our own or a person's, and the agents' panes in it."""

    def __init__(
        self,
        *,
        socket: str,
        home: str,
        conf: Path,
        started: Callable[[int], int | None],
        history_limit: int = 50_000,
        deadline: float = 5.0,
        now: Callable[[], float] = time.time,
        apart: Sequence[str] = (),
        control: ControlClient | GuestClient | None = None,
    ) -> None:
        _check_word(home)
        self.control = control or ControlClient(
            TmuxProgram(socket=socket, conf=conf),
            anchor=tmux_name(f"_sm_{home}", 1),
            deadline=deadline,
            apart=apart,
        )
        self._home = home
        self._started = started
        self._history_limit = history_limit
        self._now = now

    @property
    def connected(self) -> bool:
        return self.control.connected

    @property
    def server(self) -> Server | None:
        """Which server answered last; another one means every pane known before is gone."""
        return self.control.server

    @property
    def socket_path(self) -> str:
        """Absolute path of the server's socket."""
        if self.control.server is not None:
            return self.control.server.socket_path
        return str(self.control.program.path)

    def notify(
        self,
        *,
        connected: Callable[[], None],
        lost: Callable[[], None],
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        """Whom to call when the connection is there (again), when it is lost, and when a window
        of any session was closed."""
        if not isinstance(self.control, ControlClient):
            return

        def hear(line: str) -> None:
            if line.startswith(CLOSED):
                closed()

        self.control.on_notice = hear
        self.control.on_connected = connected
        self.control.on_lost = lost

    async def start(self) -> None:
        await self.control.start()

    async def close(self) -> None:
        """Disconnect; the server and the agents in it stay."""
        await self.control.close()

    async def launch(self, launch: PaneLaunch) -> Pane:
        """Start an agent, or find the one that was started before."""
        pane = await self.find(launch.session)
        if pane is not None:
            return pane
        _check_word(launch.session)
        _check_startable(launch)
        self._begin_logs(launch)
        await self._launch(launch)
        pane = await self.find(launch.session)
        if pane is None:
            raise LaunchFailedError(f"the pane in {launch.cwd} disappeared as soon as it was made")
        return pane

    def check_startable(self, launch: PaneLaunch) -> None:
        _check_startable(launch)

    async def relaunch(self, launch: PaneLaunch) -> Pane:
        """Start an agent in the place of one that died: in its own pane, where that is left, with
        its scrollback and whoever looks at it; else in a window of its tmux session, where a
        person has others. Nothing of theirs is ended."""
        _check_startable(launch)
        found = next((p for p in await self.panes() if p.sm_session == launch.session), None)
        if found is not None and found.dead:
            self._continue_log(launch)
            pipe = _pipe_into(launch.raw_log)
            return await self._start_again(
                launch, respawn_list(launch, found.id, home=self._home, pipe=pipe), found.pid
            )
        if found is not None:
            # What runs in its pane now is not the agent.
            await self._give_up(found.id, launch.session)
        left = await self._sessions_of(launch.session)
        if not left:
            return await self.launch(launch)
        self._begin_logs(launch)
        limit = self._history_limit
        pane = await self._start_again(
            launch, window_list(launch, left[0], home=self._home, history_limit=limit)
        )
        view = await self.look(pane.id)
        if view is not None and (view.width, view.height) != (COLS, ROWS):
            # As large as the terminal of whoever looks at the windows beside it.
            self._note_size(launch.raw_log, launch.sizes_log, view.width, view.height)
        return pane

    async def _start_again(
        self, launch: PaneLaunch, command: Command, before: int | None = None
    ) -> Pane:
        try:
            await self.control.run(*command)
        except TmuxError as error:
            raise LaunchFailedError(f"tmux could not start the agent: {error}") from error
        pane = await self.find(launch.session)
        if pane is None or pane.pid == before:
            raise LaunchFailedError(f"the pane in {launch.cwd} disappeared as it was started in")
        return pane

    async def _give_up(self, pane: PaneId, session: SessionId) -> None:
        """Leave its pane to the program that runs in it now."""
        mine = both(equal(f"#{{{HOME}}}", self._home), equal(f"#{{{PANE}}}", session))
        tags = [("set-option", "-p", "-u", "-t", pane, tag) for tag in TAGS]
        try:
            await self.control.run(
                *when(
                    both(mine, "#{?pane_dead,0,1}"),
                    ("pipe-pane", "-t", pane),
                    ("set-option", "-w", "-u", "-t", pane, "remain-on-exit"),
                    *tags,
                    target=pane,
                )
            )
        except TmuxError as error:
            if not error.is_gone:
                raise

    async def _launch(self, launch: PaneLaunch) -> None:
        for attempt in count(1):
            name = tmux_name(launch.tmux_session, attempt)
            command = launch_list(
                launch, name=name, home=self._home, history_limit=self._history_limit
            )
            try:
                await self.control.run(*command)
            except TmuxError as error:
                if error.is_duplicate:
                    continue
                await self.kill(launch.session)
                raise LaunchFailedError(f"tmux could not start the agent: {error}") from error
            return

    def _begin_logs(self, launch: PaneLaunch) -> None:
        """Create both logs, closed to others, and note the size the pane will begin with."""
        self._note_size(launch.raw_log, launch.sizes_log, COLS, ROWS)
        self._continue_log(launch)

    def _continue_log(self, launch: PaneLaunch) -> None:
        """The size of a pane that is left was noted before."""
        with contextlib.suppress(OSError):  # a log that cannot be written was told of above
            raw = Path(launch.raw_log)
            if raw.exists() and raw.stat().st_size:
                with raw.open("ab") as log:
                    log.write(ANEW)

    def _note_size(self, raw_log: str, sizes_log: str, cols: int, rows: int) -> None:
        try:
            for path in (raw_log, sizes_log):
                os.close(os.open(path, os.O_CREAT | os.O_APPEND, 0o600))
            offset = Path(raw_log).stat().st_size
            with Path(sizes_log).open("a") as sizes:
                sizes.write(
                    f'{{"at":{int(self._now())},"cols":{cols},"rows":{rows},"offset":{offset}}}\n'
                )
        except OSError as error:
            raise LaunchFailedError(f"the terminal's log cannot be written: {error}") from error

    async def take(self, pane: PaneId, session: SessionId, raw_log: str, sizes_log: str) -> bool:
        """Make a living pane that is nobody's an agent's pane of ours; whether it is now."""
        _check_word(session)
        free = both(equal(f"#{{{PANE}}}", ""), "#{?pane_dead,0,1}")
        size = "#{pane_id}:#{pane_width}:#{pane_height}"
        try:
            found = await self.control.run("display-message", "-p", "-t", pane, size)
            cols, rows = map(int, found[0].split(":")[1:])
            self._note_size(raw_log, sizes_log, cols, rows)
            await self.control.run(
                *when(
                    free,
                    ("set-option", "-p", "-t", pane, HOME, self._home),
                    # Not with -o: tmux closes somebody else's pipe before it looks at that.
                    when(
                        "#{?pane_pipe,0,1}",
                        ("pipe-pane", "-t", pane, _pipe_into(raw_log)),
                        ("set-option", "-p", "-t", pane, LOGGED, "1"),
                        ("set-option", "-p", "-t", pane, RAW, raw_log),
                        ("set-option", "-p", "-t", pane, SIZES, sizes_log),
                        target=pane,
                    ),
                    ("set-option", "-p", "-t", pane, PANE, session),
                    target=pane,
                )
            )
            view = await self.look(pane)
        except (TmuxError, ValueError):
            return False
        return view is not None and view.session == session

    async def note_size(self, pane: PaneId, before: str) -> str:
        """Note the size of an adopted agent's pane beside its log, if it is another than before."""
        formats = ("#{pane_width}:#{pane_height}", f"#{{{RAW}}}", f"#{{{SIZES}}}")
        asked = [("display-message", "-p", "-t", pane, format_) for format_ in formats]
        told = await self.control.run_list(*asked)
        size, raw_log, sizes_log = (lines[0] if lines else "" for lines in told)
        if size != before and raw_log and sizes_log:
            cols, rows = map(int, size.split(":"))
            self._note_size(raw_log, sizes_log, cols, rows)
        return size

    async def release(self, pane: PaneId, session: SessionId) -> None:
        """Take everything of ours from a pane, which lives on."""
        _check_word(session)
        try:
            await self.control.run(
                *when(
                    both(ours(self._home), equal(f"#{{{PANE}}}", session)),
                    when(f"#{{{LOGGED}}}", ("pipe-pane", "-t", pane), target=pane),
                    *(("set-option", "-p", "-u", "-t", pane, tag) for tag in TAGS),
                    target=pane,
                )
            )
        except TmuxError as error:
            if not error.is_gone:
                raise

    async def find(self, session: SessionId) -> Pane | None:
        for status in await self.panes():
            if status.sm_session == session:
                return self._pane(status)
        return None

    def _pane(self, status: PaneStatus) -> Pane:
        return Pane(
            socket=self.socket_path,
            session=status.tmux_session,
            id=status.id,
            pid=status.pid,
            # 0: the process is already gone, as its status will tell.
            started=self._started(status.pid) or 0,
        )

    async def panes(self) -> list[PaneStatus]:
        """Every agent's pane of this home, once each."""
        return await self._told(self._panes, lambda panes: any(map(is_untold, panes)))

    async def _panes(self) -> list[PaneStatus]:
        listed = map(read_listed, await self.control.run("list-panes", "-a", "-F", LISTED))
        found: dict[PaneId, PaneStatus] = {}
        for pane in listed:
            mine = pane.home == self._home and pane.status.sm_session
            if mine and (pane.in_own_session or pane.status.id not in found):
                found[pane.status.id] = pane.status
        return list(found.values())

    async def look(self, pane: PaneId) -> View | None:
        return await self._told(
            lambda: self._look(pane), lambda view: view is not None and is_untold(view)
        )

    async def _told(self, ask: Callable[[], Awaitable[T]], untold: Callable[[T], bool]) -> T:
        """Ask until tmux knows how a dead pane's process ended, or never will."""
        for pause in REAPING_PAUSES:
            answer = await ask()
            if not untold(answer):
                return answer
            # tmux 3.3a misses the end of one child in twenty when another ends with it; the end
            # of a further child makes it count them all.
            await self.control.run("run-shell", "-b", ":")
            await asyncio.sleep(pause)
        return await ask()

    async def _look(self, pane: PaneId) -> View | None:
        answers = await self._capture(pane)
        if answers is None:
            return None
        try:
            return read_view(answers[0][0], answers[1], home=self._home)
        except (ValueError, IndexError) as error:
            raise TerminalUnreachableError(f"tmux gave an answer we cannot read: {error}") from None

    async def _capture(self, pane: PaneId) -> list[list[str]] | None:
        try:
            return await self.control.run_list(
                ("display-message", "-p", "-t", pane, VIEWED),
                ("capture-pane", "-p", "-t", pane),
            )
        except TmuxError as error:
            if error.is_gone:
                return None
            raise TerminalUnreachableError(f"tmux refused to be looked at: {error}") from None

    async def server_now(self) -> Server:
        """Which server answers now; asked, not remembered."""
        return read_server((await self.control.run("display-message", "-p", SERVER))[0])

    async def dump(
        self, pane: PaneId, *, of: SessionId | None = None, lines: int | None = None
    ) -> bytes | None:
        """The scrollback and the screen as text; a line that was wrapped is one again."""
        is_meant = ours(self._home)
        if of is not None:
            _check_word(of)
            # After its restart, a server may have given the same id to another session's pane.
            is_meant = both(is_meant, equal(f"#{{{PANE}}}", of))
        begin = "-" if lines is None else f"-{lines}"
        capture = when(is_meant, ("capture-pane", "-p", "-J", "-S", begin, "-t", pane), target=pane)
        try:
            # Not over the control connection: other sessions' questions would wait behind
            # megabytes of answer.
            text = await self.control.program.fetch(*capture, deadline=DUMPED_WITHIN)
        except TmuxError as error:
            if error.is_gone:
                return None
            raise TerminalUnreachableError(f"tmux refused to be looked at: {error}") from None
        # Not ours, nothing shown: of an empty pane there are at least its empty lines.
        return await asyncio.to_thread(_without_padding, text, lines) if text else None

    async def paste(self, pane: PaneId, mark: str, text: str) -> None:
        """Paste once. Into a pane that is gone or dead nothing is pasted and no mark is left."""
        _check_word(mark)
        buffer = f"sm-{self._home}-{mark}"
        fresh = both(typable(self._home), f"#{{!=:#{{{PASTED}}},{mark}}}")
        await self.control.run_list(
            ("set-buffer", "-b", buffer, "--", text),
            when(
                fresh,
                ("paste-buffer", "-p", "-r", "-b", buffer, "-t", pane),
                ("set-option", "-p", "-t", pane, PASTED, mark),
                target=pane,
            ),
            ("delete-buffer", "-b", buffer),
        )

    async def press(self, pane: PaneId, key: str, *, option: str, mark: str) -> None:
        """Press one key once. In a pane that is gone or dead nothing happens, no mark is left."""
        _check_word(mark)
        await self.control.run(
            *when(
                both(typable(self._home), f"#{{!=:#{{{option}}},{mark}}}"),
                ("set-option", "-p", "-t", pane, option, mark),
                ("send-keys", "-t", pane, key),
                target=pane,
            )
        )

    async def leave_mode(self, pane: PaneId) -> None:
        # Somebody may only have scrolled up; a selection would be lost to its owner.
        in_mode = both(ours(self._home), "#{?pane_in_mode,#{?selection_present,0,1},0}")
        try:
            await self.control.run(
                *when(in_mode, ("send-keys", "-t", pane, "-X", "cancel"), target=pane)
            )
        except TmuxError as error:
            # A menu or a clock has no cancel; the next look still says that a mode is on.
            if str(error) != "not in a mode":
                raise

    async def rename(self, pane: PaneId, name: str) -> str:
        """Raises TmuxError if the pane is gone."""
        session = await self._session_of(pane)
        for attempt in count(1):
            given = tmux_name(name, attempt)
            try:
                await self.control.run("rename-session", "-t", session, given)
            except TmuxError as error:
                if not error.is_duplicate:
                    raise
            else:
                return given
        raise AssertionError("unreachable")

    async def _session_of(self, pane: PaneId) -> str:
        """The session it was launched in: a pane moved to another does not take its name along."""
        at_home = both(ours(self._home), equal(f"#{{{PANE}}}", f"#{{{SESSION}}}"))
        this = both(at_home, equal("#{pane_id}", pane))
        found = await self.control.run("list-panes", "-a", "-f", this, "-F", "#{session_id}")
        if not found:
            raise TmuxError(f"can't find pane: {pane}")
        return found[0]

    async def tell(self, words: str) -> int:
        """Show a line to everybody attached to a session of this home; to how many."""
        try:
            listed = await self.control.run("list-clients", "-F", ATTACHED)
        except (TmuxError, TerminalUnreachableError):
            return 0
        clients = [line.split(" ", 1) for line in listed]
        ours = [name for home, name in clients if home == self._home]
        return sum([await self._show(client, words) for client in ours])

    async def _show(self, client: str, words: str) -> bool:
        # tmux would expand formats and times; a screen stands still while a message is shown.
        literal = words.replace("#", "##").replace("%", "%%")
        try:
            await self.control.run("display-message", "-c", client, "-d", SHOWN_FOR, literal)
        except (TmuxError, TerminalUnreachableError):
            return False
        return True

    async def kill(self, session: SessionId) -> None:
        mine = self._tagged(session)
        for found in await self._sessions_of(session):
            # Checked again by the server: after its restart the id may be a stranger's.
            await self.control.run(*when(mine, ("kill-session", "-t", found), target=f"{found}:"))
        await self._kill_moved_pane(session)

    async def _sessions_of(self, session: SessionId) -> list[str]:
        return await self.control.run(
            "list-sessions", "-f", self._tagged(session), "-F", "#{session_id}"
        )

    def _tagged(self, session: SessionId) -> str:
        """Whether a tmux session is this one's."""
        _check_word(session)
        return both(equal(f"#{{{HOME}}}", self._home), equal(f"#{{{SESSION}}}", session))

    async def _kill_moved_pane(self, session: SessionId) -> None:
        """A person may have moved the agent's pane, or share its window with another session."""
        mine = both(equal(f"#{{{HOME}}}", self._home), equal(f"#{{{PANE}}}", session))
        pane = await self.find(session)
        if pane is not None:
            await self.control.run(*when(mine, ("kill-pane", "-t", pane.id), target=pane.id))


def _check_word(word: str) -> None:
    """Tags and marks stand in formats, where other characters have a meaning."""
    if not re.fullmatch(r"[\w.-]+", word):
        raise ValueError(f"not a plain word: {word!r}")


def _without_padding(text: bytes, most: int | None) -> bytes:
    """Without the blanks that joined lines keep at their ends, and the empty lines at the end."""
    bare = b"\n".join(map(bytes.rstrip, text.split(b"\n"))).rstrip(b"\n")
    # History comes beside the screen: asked for so many lines, tmux gives some more.
    last = bare if most is None else b"\n".join(bare.rsplit(b"\n", most)[-most:])
    return last + b"\n"


def _pipe_into(raw_log: str) -> str:
    # tmux would expand formats and times in the path.
    path = shlex.quote(raw_log).replace("#", "##").replace("%", "%%")
    return f"umask 077; exec cat >> {path}"


def _check_startable(launch: PaneLaunch) -> None:
    """tmux itself would start the agent in another folder, or a pane that dies without a word."""
    if not Path(launch.cwd).is_dir():
        raise LaunchFailedError(f"{launch.cwd} is not a folder. Create it or choose another.")
    program = launch.argv[0]
    if "/" in program and shutil.which(program) is None:
        raise LaunchFailedError(f"{program} is not there or cannot be executed.")
