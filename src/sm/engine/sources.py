"""What is left of a crashed session's conversation, from the best source that can be read.

The transcript first, then what the terminal showed, then the last snapshot of it; a transcript of
an older context comes last. What cannot be used is named and never fatal.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from sm.core.exchange import Exchange, Role, with_ended
from sm.core.ids import SessionId
from sm.core.remains import WENT_ON, Shown, without_told
from sm.core.retelling import replies, requests
from sm.core.shortening import count
from sm.core.state import PastContext, Session
from sm.core.story import Request, Story
from sm.engine.drafts import moment
from sm.engine.ports import Dialect

GARBAGE = 0.15
"""A line with so much in it that is no text is garbage."""
SOME, MUCH = 0.05, 0.5
"""With so many such lines a text is not read as a conversation any more; or not used at all: in
noise, short lines pass for text."""
RECOGNISED = 0.1
"""Of the lines with something in them: in less, what was recognised is not the conversation."""
_REPLACED = "\ufffd"

Log = Callable[[SessionId, int], list[str]]
"""The last lines a session's terminal showed, at most so many. Raises OSError."""
Snapshot = Callable[[SessionId], tuple[str, float] | None]
"""The last one, and when it was taken. Raises OSError."""


@dataclass(slots=True)
class Sources:
    """Read one after another; what was found, and what is to be said of it."""

    session: Session
    dialect: Dialect
    exchanges: tuple[Exchange, ...] = ()
    transcript: str = ""
    """The one they were read from."""
    source: str = ""
    """What else they were read from."""
    is_older: bool = False
    """They are of a context that others came after, of which nothing could be read."""
    story: Story = field(default_factory=Story)
    shown: Shown | None = None
    requests: int = 0
    replies: int = 0
    flaw: str | None = None
    """Why the transcript is not whole."""
    used: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def read_transcript(self, room: int) -> None:
        """Of the context it was in. Where nothing was said in that one, of the one it came from: an
        agent may die again before it is told anything."""
        self.flaw = self._read("transcript", self.session.context.transcript, room)
        older = _recovered(self.session)
        read = self._read_first(_still_current(self.session), room)
        if self.transcript:
            self._prepend(older[read:], room)

    def read_older(self, room: int) -> None:
        """Where nothing else tells anything: of a context that others came after."""
        recovered = _recovered(self.session)
        self._read_first(recovered[len(_still_current(self.session)) :], room)
        self.is_older = bool(self.transcript)

    def _read_first(self, contexts: tuple[PastContext, ...], room: int) -> int:
        """How many were tried."""
        for tried, past in enumerate(contexts):
            if self.transcript:
                return tried
            self._read(_name(past), past.transcript, room)
        return len(contexts)

    def _prepend(self, contexts: tuple[PastContext, ...], room: int) -> None:
        """What led to the context that was read, newest first: of a context before a crash it knows
        only as much as it was told. A text within a text within a text would leave out ever more.
        """
        own, before = without_told(self.exchanges), tuple[Exchange, ...]()
        for past in contexts:
            left = room - sum(len(one.text) for one in (*before, *own))
            if left <= 0:
                break
            before = (*self._exchanges_of(past, left), *before)
        if before:
            self.exchanges = (*before, *([WENT_ON, *own] if own else []))

    def _exchanges_of(self, past: PastContext, room: int) -> tuple[Exchange, ...]:
        file = Path(past.transcript or "")
        try:
            found = (
                () if is_special(file) else without_told(self.dialect.read_exchanges(file, room))
            )
        except OSError as error:
            self.skipped.append(f"{_name(past)}: {_why(error)}")
            return ()
        self.used += [f"{_name(past)}: {count(len(found), 'exchange')}"] if found else []
        return found

    def _read(self, name: str, path: str | None, room: int) -> str | None:
        """What is wrong with it."""
        try:
            why, flaw = self._read_file(name, path, room)
        except OSError as error:
            why, flaw = _why(error), None
        if why is None:
            return flaw
        self.skipped.append(f"{name}: {why}")
        return f"the transcript: {why}"

    def _read_file(self, name: str, path: str | None, room: int) -> tuple[str | None, str | None]:
        """Why it is of no use at all; or only not whole."""
        if path is None:
            return "its agent told of none", None
        file = Path(path)
        if is_special(file):
            return "it is not a file", None
        story = self.dialect.read_story(file)
        if story is None:
            is_empty = file.stat().st_size == 0
            return "it is empty" if is_empty else "there is no record of a conversation in it", None
        integrity = self.dialect.examine(file)
        self.story, self.transcript = story, path
        if integrity.torn:
            were = "was" if integrity.torn == 1 else "were"
            torn = count(integrity.torn, "torn line")
            self.skipped.append(f"{name}: {torn} {were} skipped")
        newest = self.dialect.read_exchanges(file, room)
        given = [request for request in story.requests if not request.is_waiting]
        # An agent may work for days on what it was asked once.
        latest = () if any(one.is_request for one in newest) else tuple(given[-1:])
        waiting = tuple(request for request in story.requests if request.is_waiting)
        self.exchanges = (*map(_asked, latest), *newest, *map(_asked, waiting))
        self.requests, self.replies = len(story.requests), story.replies
        self.used.append(f"{name}: {self._counted()}")
        return None, integrity.flaw

    def read_terminal(self, log: Log, lines: int, snapshot: Snapshot | None) -> None:
        self._show("terminal log", lambda: ("the terminal's log", log(self.session.id, lines)))
        if self.shown is None and snapshot is not None:
            self._show("snapshot", lambda: _of_snapshot(snapshot(self.session.id)))

    def add_ended(self, ended: tuple[Exchange, ...]) -> None:
        """What its hooks told of, and its transcript does not. A terminal shows it by itself."""
        if not self.transcript:
            return
        self.exchanges = with_ended(self.exchanges, ended)
        if unwritten := sum(one.is_unwritten for one in self.exchanges):
            self.used.append(f"hooks: {count(unwritten, 'call')} the transcript has no end of")

    def _show(self, name: str, take: Callable[[], tuple[str, list[str]]]) -> None:
        try:
            source, lines = take()
        except OSError as error:
            self.skipped.append(f"{name}: {_why(error)}")
            return
        if not any(line.strip() for line in lines):
            self.skipped.append(f"{name}: it is empty")
            return
        legible = [line for line in lines if _is_text(line)]
        garbage = len(lines) - len(legible)
        if garbage >= MUCH * len(lines):
            self.skipped.append(f"{name}: binary garbage, not used")
            return
        self.shown = Shown(source=source, lines=tuple(legible))
        self.used.append(f"{name}: {count(len(legible), 'line')}")
        if self.exchanges:
            return
        part = f"{garbage} of {len(lines)} lines are binary garbage"
        if garbage > SOME * len(lines):
            self.skipped.append(f"{name}: {part}, the rest is used as it is")
            return
        self.skipped += [f"{name}: {part}"] if garbage else []
        self._recognise(name, self.shown)

    def _recognise(self, name: str, shown: Shown) -> None:
        exchanges = self.dialect.read_shown(shown.lines)
        told = sum(_lines(one) for one in exchanges)
        if told < RECOGNISED * sum(bool(line.strip()) for line in shown.lines) or not exchanges:
            self.skipped.append(f"{name}: no conversation recognised in it, used as it is")
            return
        self.exchanges, self.source = exchanges, shown.source
        self.requests, self.replies = requests(self.exchanges), replies(self.exchanges)
        self.used[-1] += f", {self._counted()}"

    def _counted(self) -> str:
        asked = count(self.requests, "request")
        return f"{asked}, {self.replies} {'reply' if self.replies == 1 else 'replies'}"


def _recovered(session: Session) -> tuple[PastContext, ...]:
    """The contexts that recoveries went on from, the newest first."""
    newest_first = reversed(session.lineage)
    return tuple(takewhile(lambda past: past.how.startswith("recovery "), newest_first))


def _still_current(session: Session) -> tuple[PastContext, ...]:
    """Those of them that nothing was said after: their record is still the latest there is."""
    recovered, found = _recovered(session), list[PastContext]()
    was_at_work = session.context.turns > 0 and not (recovered and _was_only_told(session))
    for past in recovered:
        if was_at_work:
            break
        found.append(past)
        was_at_work = bool(past.tokens)
    return tuple(found)


def _was_only_told(session: Session) -> bool:
    """It died in the very turn in which it was told of its last crash, and had said nothing yet."""
    how, context, crash = session.lineage[-1].how, session.context, session.crash
    was_told = any(r.message is not None and how == f"recovery {r.id}" for r in session.recoveries)
    is_alone = crash is not None and crash.busy and not crash.taken
    return was_told and is_alone and context.turns == 1 and context.usage is None


def _name(past: PastContext) -> str:
    return f"transcript of context {past.number}"


def is_special(path: Path) -> bool:
    """Something that stands where a file should: to read a pipe would wait for ever."""
    return path.exists() and not path.is_file()


def _asked(request: Request) -> Exchange:
    return Exchange(
        role=Role.ASKED,
        text=request.text,
        at=request.at,
        sender=request.sender,
        is_waiting=request.is_waiting,
    )


def _lines(exchange: Exchange) -> int:
    printed = exchange.result.output if exchange.result is not None else ""
    return sum(bool(line.strip()) for text in (exchange.text, printed) for line in text.split("\n"))


def _of_snapshot(taken: tuple[str, float] | None) -> tuple[str, list[str]]:
    if taken is None:
        raise FileNotFoundError
    text, at = taken
    return f"the snapshot of {moment(at)} UTC", text.splitlines()


def _is_text(line: str) -> bool:
    odd = sum(not (c.isprintable() or c.isspace()) or c == _REPLACED for c in line)
    return odd <= GARBAGE * len(line)


def _why(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is none"
    return f"cannot be read: {error.strerror or error}"
