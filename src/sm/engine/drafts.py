"""Automatic documents: composed from what is on record, shown or handed on; nothing is written."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from sm.core.channel import handoff_name
from sm.core.draft import BUDGET, LATEST, SMALLEST, Around, Aside, Draft, Heading, compose
from sm.core.earlier import Earlier, answered, is_telling, outcome
from sm.core.exchange import Exchange
from sm.core.ids import HandoffId
from sm.core.inline import ESSENCE
from sm.core.passage import AUTO, Handoff
from sm.core.state import PastContext, Session
from sm.core.story import Request, Story, with_ended
from sm.engine.cleaning import without_secrets
from sm.engine.naming import NotFoundError, RefusedError
from sm.engine.ports import Clock, Dialects, Handoffs

TOLD = 4
"""Of so many contexts before the present one, and of the first, it is told what came of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """An automatic document, and what lies beside it."""

    text: str
    essence: str
    """The same in a few kilobytes."""
    asides: tuple[Aside, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """A context the session has left, and what its transcript tells."""

    past: PastContext
    story: Story


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafts:
    """Reading takes threads: a transcript may have hundreds of megabytes."""

    dialects: Dialects
    handoffs: Handoffs
    clock: Clock
    redact: Callable[[str], str]
    """Takes secrets out of whatever leaves here; the one place for it."""
    channel: Callable[[str], str] = lambda cwd: Path(cwd).name or "root"
    """The channel a directory belongs to."""

    async def of_session(
        self, session: Session, budget: int, *, name: str = "", folder: str = ""
    ) -> Draft:
        """Under this handoff name (else one of its own), to lie in this folder with its asides.

        Raises RefusedError where there is nothing to read.
        """
        path = session.context.transcript
        # Agents write it with the first prompt, and a moment late.
        if path is None or not os.path.exists(path):  # noqa: PTH110 - a Path refuses long names
            raise RefusedError(
                f"{session.name} has no transcript yet: nothing was said in this context,"
                " or its agent does not report to sm."
            )
        return await asyncio.to_thread(self._of_session, session, Path(path), budget, name, folder)

    async def for_handoff(
        self, session: Session, handoff: Handoff, folder: str, ended: Sequence[Exchange]
    ) -> Written:
        """What a handoff is made with; where nothing is on record, as much as is known.

        ``ended``: calls whose end its hooks told of.
        """
        return await asyncio.to_thread(self._for_handoff, session, handoff, folder, ended)

    def _for_handoff(
        self, session: Session, handoff: Handoff, folder: str, ended: Sequence[Exchange]
    ) -> Written:
        try:
            story = self._story(Path(session.context.transcript or ""), (session.agent,))
        except (RefusedError, NotFoundError):
            story = Story()
        story = with_ended(story, ended)
        heading = self._heading(session, handoff.id)
        story, around = self._clean(story, self._around(session, story))
        whole, essence = (
            self._composed(story, heading, budget, around, folder) for budget in (BUDGET, ESSENCE)
        )
        asides = (*essence.asides, *whole.asides)
        return Written(text=whole.text, essence=essence.text, asides=asides)

    async def of_transcript(self, path: str, budget: int) -> Draft:
        """Of any transcript; whose it is shows in its records."""
        return await asyncio.to_thread(self._of_transcript, Path(path), budget)

    def _of_session(
        self, session: Session, path: Path, budget: int, name: str, folder: str
    ) -> Draft:
        _check(budget)
        story = self._story(path, (session.agent,))
        heading = self._heading(session, name or self._id(session.context.id or session.id))
        story, around = self._clean(story, self._around(session, story))
        return self._composed(story, heading, budget, around, folder)

    def _heading(self, session: Session, name: str) -> Heading:
        return Heading(
            id=name,
            session=session.context.id or session.id,
            channel=self.channel(session.cwd),
            created=self._created(),
            kind=AUTO,
            cwd=session.cwd,
            name=session.name,
            context=session.context.number,
            transcript=session.context.transcript or "",
        )

    def _around(self, session: Session, story: Story) -> Around:
        before = self._before(session)
        return Around(
            carried=_requests(before, ((session.context.number, story),)),
            earlier=self._earlier(session, before),
            git=self.handoffs.git(session.cwd),
            background=session.tasks,
        )

    def _of_transcript(self, path: Path, budget: int) -> Draft:
        _check(budget)
        story = self._story(path, self.dialects.recognisable)
        cwd = story.cwd or str(path.parent)
        heading = Heading(
            id=self._id(story.context or path.stem),
            session=story.context or path.stem,
            channel=self.channel(cwd),
            created=self._created(),
            kind=AUTO,
            cwd=cwd,
            transcript=str(path),
        )
        git = self.handoffs.git(cwd) if Path(cwd).is_dir() else ""
        story, around = self._clean(story, Around(git=git))
        return self._composed(story, heading, budget, around)

    def _clean(self, story: Story, around: Around) -> tuple[Story, Around]:
        return without_secrets(
            lambda change: (story.mapped(change), around.mapped(change)), self.redact
        )

    def _composed(
        self, story: Story, heading: Heading, budget: int, around: Around, folder: str = ""
    ) -> Draft:
        # Once more of the whole: parts of a secret may have come together in it.
        draft = compose(story, heading, budget=budget, around=around, folder=folder, when=moment)
        asides = tuple(replace(aside, text=self.redact(aside.text)) for aside in draft.asides)
        return Draft(text=self.redact(draft.text), asides=asides)

    def _story(self, path: Path, agents: tuple[str, ...]) -> Story:
        if not path.is_absolute():
            raise RefusedError(f"{path} is not an absolute path. Give the whole path.")
        try:
            if not path.is_file():
                what = "is not a file" if path.exists() else "does not exist"
                raise NotFoundError(f"{path} {what}. Name a transcript, such as sm show tells.")
            read = (self.dialects.named(agent).read_story(path) for agent in agents)
            story = next((found for found in read if found is not None), None)
        except OSError as error:
            raise RefusedError(f"{path} cannot be read: {error.strerror}.") from None
        if story is None:
            raise RefusedError(
                f"{path} is not a transcript sm can read: it holds no record of a conversation."
            )
        return story

    def carried(self, session: Session) -> tuple[Request, ...]:
        """What was asked before this context: how it all began, and what came last."""
        return _requests(self._before(session), ())

    def _before(self, session: Session) -> tuple[_Left, ...]:
        """The first context, and of the others the newest that are told of, oldest first.

        Also older ones, until something was asked: contexts that sm hands over from one to the
        next are asked nothing new.
        """
        first, *others = session.lineage or (None,)
        latest: list[_Left] = []
        asked = 0
        for past in reversed(others):
            if asked >= LATEST and len(latest) >= TOLD:
                break
            latest.append(self._left(session, past))
            asked += len(latest[-1].story.requests)
        begun = () if first is None else (self._left(session, first),)
        return (*begun, *reversed(latest))

    def _left(self, session: Session, past: PastContext) -> _Left:
        story = Story()
        if past.transcript:
            # Agents tidy up after themselves: an old transcript may be gone.
            with contextlib.suppress(RefusedError, NotFoundError):
                story = self._story(Path(past.transcript), (session.agent,))
        return _Left(past=past, story=story)

    def _earlier(self, session: Session, before: Sequence[_Left]) -> tuple[Earlier, ...]:
        return tuple(
            Earlier(
                number=left.past.number,
                ended_at=left.past.ended_at,
                how=left.past.how,
                story=outcome(left.story),
                document=self._document(session, left.past),
                transcript=left.past.transcript or "",
            )
            for n, left in enumerate(before, 1)
            if n == len(before) or is_telling(left.story)
        )

    def _document(self, session: Session, past: PastContext) -> str:
        """Where the document is that a context was left with."""
        kind, _, handoff = past.how.partition(" ")
        kept = self.handoffs.last(session.id, HandoffId(handoff)) if kind == "handoff" else None
        return kept.path if kept is not None else ""

    def _id(self, origin: str) -> str:
        return handoff_name(self.clock.now(), origin)

    def _created(self) -> str:
        return f"{datetime.fromtimestamp(self.clock.now(), UTC):%Y-%m-%dT%H:%M:%SZ}"


def _requests(before: Sequence[_Left], now: tuple[tuple[int, Story], ...]) -> tuple[Request, ...]:
    """With the context in which each was answered; ``now``: the present one's story."""
    stories = [(left.past.number, left.story) for left in before]
    asked = [(number, request) for number, story in stories for request in story.requests]
    return answered(asked, (*stories, *now))


def _check(budget: int) -> None:
    if budget < SMALLEST:
        raise RefusedError(
            f"A document of {budget} bytes says too little. Give at least {SMALLEST // 1000}KB."
        )


def moment(at: float) -> str:
    """A time in words, in UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}" if at else "at an unknown time"
