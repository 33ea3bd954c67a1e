"""Secrets taken out of all texts of a value, before anything of it is shortened.

Half a secret is not recognised any more: whoever shows or hands on a part of a text takes it from
what this gives back. What a secret is, is not known here.
"""

from collections.abc import Callable
from typing import TypeVar

from sm.core.shortening import brief, joined

T = TypeVar("T")
Change = Callable[[str], str]
_BETWEEN = "\n\x1e\x1e\x1e\n"


def in_brief(text: str, limit: int, redact: Change) -> str:
    """One line of at most so many characters, of which nothing was a part of a secret."""
    return brief(redact(text), limit)


def without_secrets(mapped: Callable[[Change], T], redact: Change) -> T:
    """``mapped`` gives the value with each of its texts changed, always in the same order."""
    texts: dict[str, str] = {}

    def kept(text: str) -> str:
        return texts.setdefault(text, text)

    mapped(kept)
    clean = dict(zip(texts, _redacted(list(texts), redact), strict=True))
    return mapped(lambda text: joined(clean[text]))


def _redacted(texts: list[str], redact: Change) -> list[str]:
    """All at once: a secret may reach from one text into the next. Apart where that takes the
    border between them with it."""
    clean = redact(_BETWEEN.join(texts)).split(_BETWEEN)
    if len(clean) == len(texts):
        return clean
    if len(texts) < 2:
        return [redact(text) for text in texts]
    half = len(texts) // 2
    return [*_redacted(texts[:half], redact), *_redacted(texts[half:], redact)]
