"""What a dead agent was at, from what is on record."""

from dataclasses import dataclass

from sm.core.crash import Crash
from sm.core.state import Session
from sm.engine.drafts import Drafts
from sm.engine.naming import NotFoundError, RefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollected:
    prompt: str
    note: str
    sources: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    requests: int = 0
    replies: int = 0
    lines: int = 0
    tokens: int = 0
    last_activity: str = ""
    whole: bool = True


class Recollection:
    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts

    async def of(
        self,
        session: Session,
        crash: Crash,
        *,
        survivors: tuple[str, ...] = (),
        unrecorded: tuple[str, ...] = (),
        window: int | None = None,
    ) -> Recollected:
        try:
            draft = (await self._drafts.of_session(session, 30_000)).text
        except (RefusedError, NotFoundError) as error:
            draft = str(error)
        lost = "\n".join(unrecorded)
        note = f"Your session crashed ({crash.words}). Resume from where you left off.\n{lost}"
        return Recollected(prompt=f"{note}\n{draft}", note=note)
