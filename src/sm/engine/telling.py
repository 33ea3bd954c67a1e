"""Tells the person what the core wants them to know."""

from sm.core.effects import TellPerson
from sm.core.events import PersonTold
from sm.core.ids import SessionId
from sm.core.notices import PersonNotice, person_notice_id
from sm.core.state import Session
from sm.engine.ports import Clock, Notices

EVERYBODY = SessionId("")


class Telling:
    def __init__(self, notices: Notices, clock: Clock) -> None:
        self._notices = notices
        self._clock = clock

    async def tell(self, session: Session, effect: TellPerson) -> PersonTold:
        whose = EVERYBODY if effect.for_all else session.id
        notice = PersonNotice(
            id=person_notice_id(whose, effect.about or effect.words),
            session=session.id,
            words=effect.words,
            at=self._clock.now(),
            while_crashed=effect.while_crashed,
        )
        return PersonTold(words=effect.words, evidence=await self._notices.tell(notice))
