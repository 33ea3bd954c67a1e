"""Many sessions a daemon knows, without many agents.

Each is as a running one is: in the store, with a pane of the daemon's own tmux server and a living
process in it, so the daemon finds it alive, follows its process and looks at its screen. Only the
program in the pane is not an agent but ``sleep``; what an agent would report, we send.
"""

import asyncio
import subprocess
import time
import uuid

from tests.kit.sm import Sm

from bench.hook_requests import Target
from sm.adapters.store import open_store
from sm.adapters.system import ProcessTable
from sm.adapters.tmux.formats import HOME, PANE, SESSION
from sm.core.events import AgentStarted, SessionRequested
from sm.core.ids import ContextId, HookId, PaneId, SessionId
from sm.core.journal import Entry
from sm.core.reports import ContextStarted, Hook
from sm.core.session import advance, create
from sm.core.state import Session
from sm.core.terminal import Pane


def prepare(sm: Sm, number: int) -> list[Target]:
    """Make sessions in a home whose daemon has not been started yet."""
    ids = [SessionId(f"{i:08x}") for i in range(1, number + 1)]
    sm.home.make()
    # The monitor watches, but has nothing to say: a warning would be a hook's answer.
    sm.home.config.write_text("[context_monitor]\nfallback_tool_count = 1000000000\n")
    panes = _panes(sm, ids)
    made = [_session(sm, session, panes[session]) for session in ids]
    asyncio.run(_store(sm, made))
    return [Target(session=s.id, context=str(s.context.id)) for _, s in made]


def _tmux(sm: Sm, *arguments: str, stdin: str = "") -> str:
    socket = sm.home.tmux_socket("sm")
    return subprocess.run(
        ["tmux", "-u", "-L", socket, "-f", "/dev/null", *arguments],
        input=stdin, capture_output=True, text=True, check=True, env=sm.environment,
    ).stdout  # fmt: skip


def _panes(sm: Sm, ids: list[SessionId]) -> dict[SessionId, Pane]:
    tag = sm.home.tag
    lines = [
        line
        for session in ids
        for line in (
            f"new-session -d -s s{session} -x 220 -y 50 sleep 2147483647",
            f"set-option -t s{session}: {HOME} {tag}",
            f"set-option -t s{session}: {SESSION} {session}",
            f"set-option -p -t s{session}: {HOME} {tag}",
            f"set-option -p -t s{session}: {PANE} {session}",
        )
    ]
    _tmux(sm, "start-server", ";", "set-option", "-s", "exit-empty", "off")
    _tmux(sm, "source-file", "-", stdin="\n".join(lines) + "\n")
    form = f"#{{{PANE}}} #{{pane_id}} #{{pane_pid}} #{{session_name}} #{{socket_path}}"
    rows = [line.split() for line in _tmux(sm, "list-panes", "-a", "-F", form).splitlines()]
    return {SessionId(row[0]): _pane(*row[1:]) for row in rows}


def _pane(pane: str, pid: str, session: str, socket: str) -> Pane:
    started = ProcessTable().started(int(pid)) or 0
    return Pane(socket=socket, session=session, id=PaneId(pane), pid=int(pid), started=started)


def _session(sm: Sm, session_id: SessionId, pane: Pane) -> tuple[SessionRequested, Session]:
    """A session whose agent has started and shown that it is ready, by the core's own rules."""
    context, now = ContextId(str(uuid.uuid4())), time.time()
    asked = SessionRequested(
        id=session_id,
        name=f"s{session_id}",
        agent="demo",
        arguments=(),
        cwd=str(sm.work),
        parent=None,
        proves=True,
        context=context,
    )
    hook = Hook(id=HookId(f"start-{session_id}"), name="SessionStart", at=now, context=context)
    session, _ = create(asked, now)
    session, _ = advance(session, AgentStarted(pane=pane), now)
    ready = ContextStarted(hook=hook, source="startup", transcript=None)
    session, _ = advance(session, ready, now)
    return asked, session


async def _store(sm: Sm, made: list[tuple[SessionRequested, Session]]) -> None:
    store = await open_store(sm.home.store)
    try:
        await store.commit(
            [
                Entry(
                    session=session,
                    event=asked,
                    at=session.created_at,
                    hook=None,
                    messages=(),
                    asked=(),
                    finished=None,
                )
                for asked, session in made
            ]
        )
    finally:
        await store.close()
