"""What agents write about themselves, read for the engine."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sm.core.events import EffectFailed, UsageSeen
from sm.core.state import Usage
from sm.core.usage import TRANSCRIPT
from sm.engine.ports import Dialect
from sm.engine.reader import Reader
from tests.core.samples import CONTEXT, IDLE, NOON
from tests.engine.dialects import ScriptedDialect, ScriptedDialects
from tests.engine.timelapse import LoopClock
from tests.engine.world import World

pytestmark = pytest.mark.anyio
FOUND = Usage(tokens=5_000, window=None, model="opus", source=TRANSCRIPT, at=1.0)


@dataclass(slots=True)
class Readable(ScriptedDialect):
    found: Usage | None = None

    def read_usage(self, transcript_path: Path) -> Usage | None:
        assert str(transcript_path) == IDLE.context.transcript
        return self.found


class Dialects(ScriptedDialects):
    def __init__(self, found: Usage | None) -> None:
        super().__init__(World(LoopClock().now))
        self.found = found

    def named(self, agent: str) -> Dialect:
        return Readable(self.world, agent, proves=True, found=self.found)


async def test_a_transcript_tells_how_full_this_context_is_now() -> None:
    """Stamped with the time of the look: a newer word of the agent itself knows better."""
    seen = await Reader(Dialects(FOUND), LoopClock()).usage(IDLE)

    assert seen == UsageSeen(context=CONTEXT, usage=replace(FOUND, at=NOON))


async def test_a_transcript_without_a_reply_is_an_empty_context() -> None:
    seen = await Reader(Dialects(None), LoopClock()).usage(IDLE)

    empty = Usage(tokens=None, window=None, model="", source=TRANSCRIPT, at=NOON)
    assert seen == UsageSeen(context=CONTEXT, usage=empty)


async def test_an_agent_that_has_not_named_its_transcript_cannot_be_read() -> None:
    nameless = replace(IDLE, context=replace(IDLE.context, transcript=None))

    seen = await Reader(Dialects(FOUND), LoopClock()).usage(nameless)

    assert seen == EffectFailed(effect="ReadUsage", error="the agent has not named its transcript")
