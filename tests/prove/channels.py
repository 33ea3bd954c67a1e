"""Many sessions ask at once for what waits in their channel: one has it, and nobody else.

Each agent runs the command itself, as a tool. What counts is what its model was given. One that
dies between claim and load leaves it waiting, for the next to have.
"""

import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sm.adapters.channels.ledger import Ledger as Channels
from sm.core.channel import Kind, NewHandoff, Status, handoff_name
from sm.core.ids import HandoffId, SessionId
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ledger import Verdict

LOAD = "%tool sm handoffs load"
DIE = "%tool sm handoffs load > /dev/null; kill -9 $PPID"


def race(sm: Sm, *, sessions: int) -> tuple[Verdict, str]:
    """First one that takes it and dies, then all the others at once."""
    waiting = _left(sm)
    sm.new_demo("mallory")
    sm.run("send", "mallory", DIE)
    sm.wait_state("mallory", "crashed", timeout=30)
    is_back = _status(sm, waiting) == "active"
    names = [f"racer-{n}" for n in range(sessions)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(sm.new_demo, names))
    with ThreadPoolExecutor(sessions) as pool:
        list(pool.map(lambda name: sm.run("send", name, LOAD), names))
    for name in names:
        sm.run("wait", name, "--timeout", "120")
    wait_until(lambda: _status(sm, waiting) == "consumed", 30, seen=lambda: sm.run("handoffs"))
    given = [name for name in names if _was_given(sm, name, waiting)]
    verdict = Verdict(
        sent=1,
        once=int(len(given) == 1 and is_back),
        lost=int(not given),
        doubled=int(len(given) > 1),
    )
    words = f"{sessions} sessions, given to {len(given)}"
    return verdict, words + (", active again after a crash" if is_back else ", LOST with a crash")


def _left(sm: Sm) -> HandoffId:
    """A handoff whose author is gone."""
    sm.run("ls")
    author, now = SessionId(secrets.token_hex(4)), time.time()
    name = handoff_name(now, author)
    document = sm.folder / f"{name}.md"
    document.write_text(f"<!-- HANDOFF-ID: {name} -->\n\n# Goal\nThe shop.\n")
    ledger = Channels(sm.home.channels)
    made = ledger.create(
        NewHandoff(
            id=name,
            channel=sm.work.name,
            root=str(sm.work),
            kind=Kind.AUTO,
            session=author,
            context=None,
            created_at=now,
            created_by_pid=1,
            working_dir=str(sm.work),
            document=str(document),
        )
    )
    ledger.close()
    assert made.status is Status.ACTIVE
    return name


def _status(sm: Sm, handoff: HandoffId) -> str:
    (found,) = [h["status"] for h in sm.json("handoffs", "--limit", "1000") if h["id"] == handoff]
    return str(found)


def _was_given(sm: Sm, name: str, handoff: HandoffId) -> bool:
    """By the agent's own record: a demo's model is given what its tools printed."""
    transcript = sm.json("show", name)["context"]["transcript"]
    with Path(transcript).open(encoding="utf-8") as file:
        return any(f"HANDOFF LOADED (ID: {handoff})" in line for line in file)
