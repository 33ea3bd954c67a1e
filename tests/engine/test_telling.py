"""What the person is told of a session, and what counts as the same."""

from pathlib import Path

import pytest

from sm.core.effects import TellPerson
from sm.core.state import Session
from sm.engine.telling import Telling
from tests.core.samples import IDLE, NOON
from tests.engine.rig import Log, person_of
from tests.engine.timelapse import LoopClock
from tests.engine.world import World

pytestmark = pytest.mark.anyio
WORDS = "ada crashed 5 times in 15 minutes"


async def test_the_same_words_about_something_else_are_told_again(tmp_path: Path) -> None:
    """A second crash loop, a day later; and the same of another session."""
    person = person_of(World(LoopClock().now), tmp_path, Log())
    telling = Telling(person, LoopClock())

    async def told(session: Session, about: str) -> str:
        return (await telling.tell(session, TellPerson(words=WORDS, about=about))).evidence

    first = await told(IDLE, "loop at noon")
    assert first.startswith("listed")
    assert await told(IDLE, "loop at noon") == "was told before"
    assert await told(IDLE, "loop at midnight") == first

    assert [(n.session, n.words, n.seen) for n in await person.all()] == [
        (IDLE.id, WORDS, False)
    ] * 2
    assert (await person.all())[0].at == NOON
