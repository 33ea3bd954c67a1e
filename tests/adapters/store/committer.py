"""Commits without end and says so after each commit: run by a test that kills it.

Entry n brings event n, message n and effect n, and finishes effect n - 1.
"""

import asyncio
import sys
from dataclasses import replace

from sm.adapters.store import open_store
from sm.core.effects import CheckPane
from sm.core.events import TimerFired
from sm.core.ids import HookId, MessageId, SessionId
from sm.core.journal import Entry, PendingEffect
from sm.core.message import Message, MessageState
from sm.core.state import Session, Sighting, Source, State

SIZES = (1, 200, 7, 400)
ADA = Session(
    id=SessionId("ada"),
    name="ada",
    agent="claude",
    arguments=(),
    cwd="/shop",
    parent=None,
    created_at=0.0,
    proves=True,
    state=State.IDLE,
    state_since=0.0,
    verdict=Sighting(source=Source.HOOK, says="Stop", at=0.0),
)


def entry_of(number: int) -> Entry:
    message = Message(
        id=MessageId(f"m{number}"),
        to=ADA.id,
        sender_name="you",
        text="x" * 500,
        queued_at=0.0,
        number=number,
        state=MessageState.DONE,
    )
    return Entry(
        session=replace(ADA, next_number=number),
        event=TimerFired(key=str(number)),
        at=float(number),
        hook=HookId(f"h{number}"),
        messages=(message,),
        asked=(PendingEffect(id=number, session=ADA.id, effect=CheckPane()),),
        finished=number - 1 if number > 1 else None,
    )


async def commit_for_ever(path: str) -> None:
    store = await open_store(path)
    done = await store.last_effect()
    while True:
        for size in SIZES:
            await store.commit([entry_of(done + 1 + n) for n in range(size)])
            done += size
            sys.stdout.write(f"{done}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(commit_for_ever(sys.argv[1]))
