"""The automatic document: a handoff written by sm itself, from facts alone.

What a successor needs first comes first, and within a budget: what was asked is kept word for word,
what else is essential as it is, and the rest shares what is left, each part shortened by itself.
The same facts give the same document. It says of itself that no agent wrote it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sm.core import chapters, earlier
from sm.core.chapters import Chapter, When
from sm.core.earlier import Earlier
from sm.core.shortening import Item, brief, code, count, cut, fenced, listed, size
from sm.core.story import Request, Story, reworded

BUDGET, SMALLEST = 30_000, 4_000
LONG_REQUEST = 8_192
"""A longer one is shown by its head and its tail, and kept whole beside the document."""
LATEST, MOST_LATEST = 3, 8
"""So many requests that say something are the latest ones; with what stands between, so many."""
SAYS_SOMETHING = 40
"""Characters; "go on" is an answer to what was asked before it."""
FEW_WORDS = 16
"""Characters; "leave the tax alone" is worth a line where there is room."""
BETWEEN = 1_200
"""Bytes for the requests between the first and the latest."""
WHOLE = 10**9
ESSENTIAL, TERSE = 2_500, 200
"""Bytes for each list that is not to be shortened; only a very long one is. The least for one."""
BESIDE = 5_400
"""Bytes that the latest requests leave to all the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """Whose document it is, and when and why it was written."""

    id: str
    session: str
    channel: str
    created: str
    kind: str
    cwd: str
    name: str = ""
    context: int | None = None
    transcript: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """A request that is too long for the document, whole."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    text: str
    asides: tuple[Aside, ...]
    """To be written beside the document, each under its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What else is known, beside the transcript."""

    carried: tuple[Request, ...] = ()
    """Requests of the contexts before this one; the first is where it all began."""
    earlier: tuple[Earlier, ...] = ()
    """Those contexts, as far as they are told of, oldest first."""
    git: str = ""
    background: tuple[str, ...] = ()
    """Tasks the agent has told of as running."""

    def mapped(self, change: Callable[[str], str]) -> "Around":
        """With every text in it changed, always in the same order."""
        return Around(
            carried=reworded(self.carried, change),
            earlier=tuple(one.mapped(change) for one in self.earlier),
            git=change(self.git),
            background=tuple(change(task) for task in self.background),
        )


def compose(
    story: Story,
    heading: Heading,
    *,
    budget: int = BUDGET,
    around: Around | None = None,
    folder: str = "",
    when: When,
) -> Draft:
    """The document, in at most ``budget`` bytes; ``folder`` is where it will lie, if known.

    Of texts without secrets: what is cut here is not recognised as one any more.
    """
    around = around or Around()
    requests = (*around.carried, *_own(story, heading))
    asked = _Asked(requests=requests, budget=budget, folder=folder)
    goal = Chapter(title="Goal: what was asked, word for word", render=lambda _: asked.text(when))
    essential = [
        goal,
        chapters.todos(story),
        chapters.next_actions(story, requests[-1] if requests else None),
        chapters.state(story, _facts(heading), when),
        chapters.in_flight(story, around.background, when),
    ]
    shared = [
        earlier.chapter(around.earlier, when),
        chapters.decisions(story, when),
        chapters.files(story),
        chapters.commands(story),
        chapters.failures(story, when),
        chapters.git(around.git),
        chapters.last_exchanges(story),
        chapters.summary(story, when),
    ]
    top = _top(heading)
    left = budget - size(top) - size(_headed(goal, WHOLE))
    parts = {c.title: _headed(c, max(TERSE, min(ESSENTIAL, left // 6))) for c in essential}
    parts |= _shared_out(shared, budget - size(top) - sum(size(p) for p in parts.values()))
    in_order = [*essential[:4], *shared[:5], essential[4], *shared[5:]]
    text = top + "".join(parts[chapter.title] for chapter in in_order)
    return Draft(text=text, asides=asked.asides)


def _own(story: Story, heading: Heading) -> tuple[Request, ...]:
    number = heading.context
    if number is None:
        return story.requests
    return earlier.answered([(number, r) for r in story.requests], [(number, story)])


def _top(heading: Heading) -> str:
    fields = {
        "HANDOFF-ID": heading.id,
        "SESSION": heading.session,
        "CHANNEL": heading.channel,
        "CREATED": heading.created,
        "TYPE": heading.kind,
        "WORKING-DIR": heading.cwd,
    }
    comments = "".join(f"<!-- {name}: {_in_comment(told)} -->\n" for name, told in fields.items())
    title = heading.name or heading.cwd.rpartition("/")[2] or heading.session
    return (
        f"{comments}\n# Automatic handoff: {brief(title, 80)}\n\n"
        "Written by sm from the transcript, not by the agent: facts in the order of time (UTC),"
        " without judgement.\n"
    )


def _in_comment(told: str) -> str:
    """A name may hold anything; a comment must end where it ends."""
    return told.replace("\n", "%0A").replace("-->", "--%3E")


def _facts(heading: Heading) -> list[str]:
    facts = [f"Working directory: {code(heading.cwd.replace(chr(10), '␤'))}"]
    if heading.context is not None:
        facts.append(f"Session {heading.name or heading.session}, context {heading.context}")
    if heading.transcript:
        path = code(heading.transcript.replace("\n", "␤"))
        facts.append(f"The whole transcript (search it, do not read it): {path}")
    return facts


def _headed(chapter: Chapter, limit: int) -> str:
    text = chapter.render(limit)
    return f"\n## {chapter.title}\n\n{text}" if text else ""


def _shared_out(shared: Sequence[Chapter], left: int) -> dict[str, str]:
    """Each part's text: what one does not need, the others get."""
    texts = {c.title: _headed(c, WHOLE) for c in shared}
    waiting = [c for c in shared if texts[c.title]]
    while waiting:
        total = sum(c.share for c in waiting)
        content = [c for c in waiting if size(texts[c.title]) <= left * c.share // total]
        if not content:
            break
        left -= sum(size(texts[c.title]) for c in content)
        waiting = [c for c in waiting if c not in content]
    return texts | {c.title: _fitted(c, left * c.share // total) for c in waiting}


def _fitted(chapter: Chapter, limit: int) -> str:
    heading = len(chapter.title) + 6
    for spare in (0, 60, 200):
        text = _headed(chapter, limit - heading - spare)
        if size(text) <= limit:
            return text
    return ""


class _Asked:
    """The requests as they stand in the document, and what of them lies beside it."""

    def __init__(self, *, requests: Sequence[Request], budget: int, folder: str) -> None:
        self._requests = requests
        self._folder = folder
        begin = _latest(requests)
        self._first = requests[:1] if begin else ()
        self._between, self._recent = requests[len(self._first) : begin], requests[begin:]
        self._limit = min(LONG_REQUEST, max(budget // 12, (budget - BESIDE) // LATEST))
        self._brief_limit = min(BETWEEN, budget // 25)
        # The first one has what the latest leave, and a part of the whole in any case.
        taken = sum(min(size(r.text), self._limit) for r in self._recent)
        self._first_limit = min(self._limit, max(budget // 20, budget * 17 // 20 - taken))
        limits = [self._first_limit] * len(self._first) + [self._limit] * len(self._recent)
        shown = [*self._first, *self._recent]
        self.asides = tuple(
            Aside(name=self._name(r), text=r.text)
            for r, limit in zip(shown, limits, strict=True)
            if size(r.text) > limit
        )

    def text(self, when: When) -> str:
        if not self._requests:
            return "Nothing on record.\n"
        first = [self._shown("First", r, self._first_limit, when) for r in self._first]
        *then, last = self._recent
        latest = [
            self._shown("Then" if first or n else "First", r, self._limit, when)
            for n, r in enumerate(then)
        ]
        latest.append(self._shown("The latest", last, self._limit, when))
        return "".join([*first, self._in_brief(when), *latest])

    def _in_brief(self, when: When) -> str:
        said = [r for r in self._between if len(r.text) >= FEW_WORDS]
        items = [
            Item(
                text=f"- {_whose(r)}({when(r.at)}{_answer(r)}) {brief(r.text, 160)}\n",
                weight=n if len(r.text) >= SAYS_SOMETHING else n / 2,
            )
            for n, r in enumerate(said)
        ]
        if not self._between:
            return ""
        between = f"{count(len(self._between), 'request')} between"
        if not items:
            return f"{between}, of a few words.\n\n"
        return f"{between}, in brief:\n\n{listed(items, self._brief_limit)}\n"

    def _shown(self, word: str, request: Request, limit: int, when: When) -> str:
        head = f"{word}, {_whose(request)}{when(request.at)}"
        if request.images:
            head += f", with {count(request.images, 'picture')} that cannot be kept"
        if request.is_waiting:
            head += ", typed while the agent worked and not given to it yet"
        head += _answer(request)
        if size(request.text) <= limit:
            return f"{head}:\n\n{fenced(request.text)}\n"
        place = f"{self._folder}/{self._name(request)}" if self._folder else self._name(request)
        where = place if self._folder else f"{place}, beside this document"
        whole = f"{size(request.text)} bytes, whole in {where}"
        return f"{head} ({whole}):\n\n{fenced(cut(request.text, limit * 3 // 4))}\n"

    def _name(self, request: Request) -> str:
        return f"request-{self._requests.index(request) + 1}.md"


def _whose(request: Request) -> str:
    return f"from the session {brief(request.sender, 60)}, " if request.sender else ""


def _answer(request: Request) -> str:
    number = request.answered_in
    return "" if number is None else f", answered in context {number}"


def _latest(requests: Sequence[Request]) -> int:
    """Where the latest requests begin."""
    telling = 0
    for number in range(len(requests) - 1, -1, -1):
        telling += len(requests[number].text) >= SAYS_SOMETHING
        if telling == LATEST or len(requests) - number == MOST_LATEST:
            return number
    return 0
