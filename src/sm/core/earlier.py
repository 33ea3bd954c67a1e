"""What came of the contexts before the present one: what is done must not be done again.

Told from their transcripts, the newest at length, each older one in half the space. Whether an
answered request is all done is not known here: its turn came to its end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sm.core.chapters import (
    LINE,
    Chapter,
    When,
    command_told,
    command_weight,
    failure_told,
    seen_from,
)
from sm.core.shortening import Item, brief, code, listed, size
from sm.core.story import Request, Story

NEWEST, FIRST, LEAST = 4_000, 1_000, 400
"""Bytes for the context right before this one, for the very first, and for any."""
LAST_WORDS, ASKED = 300, 160
MOST = 60
"""Of each kind of fact, the newest: more would not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A context the session has left."""

    number: int
    ended_at: float
    how: str
    """How it was left."""
    story: Story = field(default_factory=Story)
    document: str = ""
    """Where the document is that it was left with."""
    transcript: str = ""

    def mapped(self, change: Callable[[str], str]) -> "Earlier":
        return replace(self, story=self.story.mapped(change))


def outcome(story: Story) -> Story:
    """As much of it as an outcome needs: what is never told need not be searched for secrets."""
    return replace(
        story,
        requests=story.requests[-1:],
        todos=(),
        decisions=story.decisions[-MOST:],
        files=tuple(file for file in story.files if file.changes)[-MOST:],
        commands=story.commands[-MOST:],
        failures=tuple(f for f in story.failures if not f.is_mended)[-MOST:],
        troubles=(),
        last=(),
        earlier=(),
        summaries=(),
    )


def is_telling(story: Story) -> bool:
    """Whether anything was asked or done in it that somebody may have to know of."""
    return bool(story.requests or story.commands or story.files or story.decisions)


def answered(
    asked: Sequence[tuple[int, Request]], stories: Sequence[tuple[int, Story]]
) -> tuple[Request, ...]:
    """Requests, each with its context's number, and with the context in which they were answered.

    One that was cut off is answered in the first context after it that comes to rest.
    """
    return tuple(
        replace(request, answered_in=_answered_in(number, request, stories))
        for number, request in asked
    )


def _answered_in(number: int, request: Request, stories: Sequence[tuple[int, Story]]) -> int | None:
    if request.is_waiting:
        return None
    at_rest = (
        other
        for other, story in stories
        if (other == number and story.answered_at >= request.at and story.answered_at)
        or (other > number and story.answered_at)
    )
    return next(at_rest, None)


def chapter(contexts: Sequence[Earlier], when: When) -> Chapter:
    """Oldest first; the older, the shorter, but for the one in which it all began."""
    newest_first = [
        (one, max(FIRST if one is contexts[0] else LEAST, NEWEST >> n))
        for n, one in enumerate(reversed(contexts))
    ]

    def render(limit: int) -> str:
        wanted = sum(size(_told(one, most, when)) for one, most in newest_first)
        part = min(1.0, limit / wanted) if wanted else 1.0
        told = [_told(one, int(most * part), when) for one, most in newest_first]
        while told and size("".join(told)) > limit:
            # How it all began goes last, before the newest.
            del told[-2 if len(told) > 2 else -1]
        return "".join(reversed(told))

    return Chapter(title="Before this context", share=5, render=render)


def _told(one: Earlier, limit: int, when: When) -> str:
    head = _head(one, when)
    items = _items(one.story)
    return f"{head}{listed(items, max(0, limit - size(head) - 1))}\n"


def _head(one: Earlier, when: When) -> str:
    words = [f"Context {one.number}, until {when(one.ended_at)}."]
    if one.story.ended_at:
        ended = "came to its end" if one.story.is_at_rest else "was cut"
        words.append(f"Its last turn {ended}.")
    elif one.transcript:
        words.append("Its transcript cannot be read any more.")
    left = f"Its document: {code(one.document)}" if one.document else f"Left by: {one.how}"
    return f"{' '.join([*words, left])}\n\n"


def _items(story: Story) -> list[Item]:
    """What was done last counts most, then what was said of it, then why."""
    total = len(story.commands)
    asked = [f"- Asked last: {brief(r.text, ASKED)}\n" for r in story.requests[-1:]]
    items = [Item(text=text, weight=60) for text in asked]
    items += [
        Item(text=f"- Decided: {brief(d.text, LINE)}\n", weight=20 + n / MOST)
        for n, d in enumerate(story.decisions)
    ]
    if changed := ", ".join(seen_from(story.cwd, file.path) for file in story.files[::-1]):
        items.append(Item(text=f"- Changed: {brief(changed, 2 * LINE)}\n", weight=45))
    items += [
        Item(text=command_told(c, story.cwd), weight=30 + command_weight(c, total - n, total))
        for n, c in enumerate(story.commands)
    ]
    items += [
        Item(text=failure_told(f, 0, story.cwd), weight=50 + n / MOST)
        for n, f in enumerate(story.failures)
    ]
    items += [
        Item(text=f"- {code(brief(u.what, LINE))} was begun and has no result\n", weight=65)
        for u in story.unfinished
        if not u.id
    ]
    if story.last_words:
        words = brief(story.last_words, LAST_WORDS)
        items.append(Item(text=f"- The agent's last words: {words}\n", weight=70))
    return items
