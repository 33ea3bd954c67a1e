"""A process that uses a ledger as a wrapper without a daemon does: run, and killed, by tests.

``race FOLDER ID SESSION``: opens the ledger, says so, waits for a line, claims, tells the outcome.
``loop FOLDER WORK SESSION CHANNEL``: leaves, claims and consumes until it is killed; tells each.
"""

import os
import sys
import time
from pathlib import Path

from sm.adapters.channels.ledger import Ledger
from sm.adapters.system import ProcessTable
from sm.core.channel import ChannelHandoff, Claimant
from sm.core.ids import ContextId, HandoffId, SessionId
from tests.adapters.channels.samples import HOUR, NOON, left


def me(session: str) -> Claimant:
    started = ProcessTable().started(os.getpid())
    assert started is not None
    return Claimant(
        session=SessionId(session), context=ContextId(session), pid=os.getpid(), started=started
    )


def tell(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def race(folder: str, handoff: str, session: str) -> None:
    ledger = Ledger(Path(folder))
    tell("ready")
    sys.stdin.readline()
    answer = ledger.claim(HandoffId(handoff), me(session), now=NOON, expiry=HOUR)
    tell("claimed" if isinstance(answer, ChannelHandoff) else answer.words)
    sys.stdin.readline()


def loop(folder: str, work: str, session: str, channel: str) -> None:
    ledger = Ledger(Path(folder))
    at = NOON
    while True:
        at += 1
        made = ledger.create(left(Path(work), at, channel=channel, session=SessionId(session)))
        tell(f"created {made.id}")
        answer = ledger.claim(made.id, me(session), now=at, expiry=HOUR)
        if isinstance(answer, ChannelHandoff):
            tell(f"claimed {made.id}")
            ledger.consume(made.id, SessionId(session), time.time())
            tell(f"consumed {made.id}")


if __name__ == "__main__":
    if sys.argv[1] == "race":
        race(*sys.argv[2:])
    else:
        loop(*sys.argv[2:])
