"""Texts made to fit: shortened from the middle, never without saying so, and safe in markdown.

Sizes are bytes of UTF-8.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_TICKS = re.compile(r"`+")
_MARK_SIZE = 40
"""What a note of something left out may take."""
END, BESIDE_JOINT = 8_000, 4_000
"""Characters of a very long text that are kept of its head, and of its tail; and how many of each
may be a part of something that was cut."""
_JOINT = "\n\x1d\x1d\x1d\n"


def size(text: str) -> int:
    return len(text.encode(errors="replace"))


def cut(text: str, limit: int) -> str:
    """At most this many bytes: its head and its tail, with a note of how much is missing."""
    whole = text.encode(errors="replace")
    if len(whole) <= limit:
        return text
    kept = max(0, limit - _MARK_SIZE)
    head = whole[: kept // 2].decode(errors="ignore")
    tail = whole[len(whole) - (kept - kept // 2) :].decode(errors="ignore")
    return f"{head}\n… {len(whole) - kept} bytes left out …\n{tail}"


def ends(text: str) -> str:
    """Of a very long text its head and its tail, so wide that secrets can still be taken out.

    To be ``joined`` after that: what a cut may have left of a secret stands at the joint.
    """
    return text if len(text) <= 2 * END else f"{text[:END]}{_JOINT}{text[-END:]}"


def joined(text: str) -> str:
    """What ``ends`` left, without what may be half of something."""
    head, joint, tail = text.partition(_JOINT)
    return f"{head[:-BESIDE_JOINT]}\n…\n{tail[BESIDE_JOINT:]}" if joint else text


def brief(text: str, limit: int) -> str:
    """One line of at most this many characters."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = limit * 2 // 3
    return f"{line[:head]} … {line[head + 3 - limit :]}"


def count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def fenced(text: str) -> str:
    """As a block of code, whatever fences stand in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}\n"


def code(text: str) -> str:
    """As code within a line."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    if longest == 0:
        return f"`{text}`"
    ticks = "`" * (longest + 1)
    return f"{ticks} {text} {ticks}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line (or few) of a list."""

    text: str
    weight: float
    """The heavier, the sooner it is kept."""


def chosen(items: Sequence[Item], limit: int) -> tuple[list[Item], int]:
    """The heaviest that fit, in their own order, and how many do not."""
    order = sorted(range(len(items)), key=lambda n: (-items[n].weight, n))
    kept: set[int] = set()
    left = limit - _MARK_SIZE
    for number in order:
        cost = size(items[number].text)
        if cost <= left:
            kept.add(number)
            left -= cost
    return [items[n] for n in sorted(kept)], len(items) - len(kept)


def listed(items: Sequence[Item], limit: int) -> str:
    """A list that fits; every gap in it is shown."""
    if sum(size(item.text) for item in items) <= limit:
        return "".join(item.text for item in items)
    kept, missing = chosen(items, limit)
    return "".join(item.text for item in kept) + f"- … {missing} more left out …\n"
