"""What the engine needs is what the adapters, and this test's world, offer."""

import inspect
import re
from pathlib import Path

import pytest

from sm.adapters.agents import Dialects as RealDialects
from sm.adapters.agents.claude.dialect import ClaudeDialect
from sm.adapters.agents.generic.dialect import GenericDialect
from sm.adapters.archive.snapshots import SnapshotFolders
from sm.adapters.handoffs.folders import HandoffFolders
from sm.adapters.inbox import Inboxes as RealInboxes
from sm.adapters.pty.terminal import PtyTerminal
from sm.adapters.store.memory import MemoryStore
from sm.adapters.store.sql import SqlStore
from sm.adapters.system import ProcessTable as RealProcesses
from sm.adapters.system import SystemClock
from sm.adapters.tmux.router import TmuxRouter
from sm.engine import ports
from sm.engine.ports import (
    Clock,
    Dialect,
    Dialects,
    Handoffs,
    Inbox,
    Processes,
    Snapshots,
    Store,
    Terminal,
)
from tests.engine.dialects import ScriptedDialect, ScriptedDialects
from tests.engine.folders import Inboxes
from tests.engine.timelapse import LoopClock
from tests.engine.world import ProcessTable, World

FITS = [
    (Store, MemoryStore),
    (Store, SqlStore),
    (Terminal, TmuxRouter),
    (Terminal, PtyTerminal),
    (Terminal, World),
    (Dialect, ClaudeDialect),
    (Dialect, GenericDialect),
    (Dialect, ScriptedDialect),
    (Dialects, RealDialects),
    (Dialects, ScriptedDialects),
    (Processes, RealProcesses),
    (Processes, ProcessTable),
    (Inbox, RealInboxes),
    (Inbox, Inboxes),
    (Handoffs, HandoffFolders),
    (Snapshots, SnapshotFolders),
    (Clock, SystemClock),
    (Clock, LoopClock),
]


@pytest.mark.parametrize(("port", "adapter"), FITS)
def test_an_adapter_answers_every_call_of_its_port(port: type, adapter: type) -> None:
    """By the same names, so that a world in a test is no easier than the real one."""
    for name, call in inspect.getmembers(port, inspect.isfunction):
        if name.startswith("_"):
            continue
        offered = getattr(adapter, name)
        wanted = inspect.signature(call).parameters
        assert list(inspect.signature(offered).parameters) == list(wanted), name
        assert inspect.iscoroutinefunction(offered) == inspect.iscoroutinefunction(call), name


def test_the_engine_knows_no_adapter() -> None:
    """It declares what it needs; only the daemon puts the two together."""
    foreign = re.compile(r"^\s*(from|import) sm\.(adapters|web|daemon|cli|api)\b", re.MULTILINE)
    modules = Path(inspect.getfile(ports)).parent.rglob("*.py")
    found = [path.name for path in modules if foreign.search(path.read_text())]

    assert found == []
