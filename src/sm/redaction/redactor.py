"""Replaces every secret in a text, in bytes, or in a stream of any length, in bounded memory.

Finds that overlap are one; the kind it is named after is the first of the rules'. What was redacted
once stays as it is: placeholders are never taken for secrets.
"""

import codecs
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from sm.redaction import colours, wraps
from sm.redaction.colours import Piece
from sm.redaction.matcher import LazyMatcher, Matcher, Span
from sm.redaction.own import own_rules
from sm.redaction.places import PLACES
from sm.redaction.rule import SIGN_REACH, Rule
from sm.redaction.services import SERVICES
from sm.redaction.values import PLACEHOLDER

RULES = (*SERVICES, *PLACES)
KINDS = tuple(dict.fromkeys(rule.kind for rule in RULES))
STEP = 8192
"""Rules are chosen for so many bytes at a time: a find costs the rule's time for these alone."""
BACK = 64
"""What a find may need to see before it."""
HELD = STEP + max(rule.reach for rule in RULES)
"""What is not written yet while more is to come: no find is longer."""
NAME_BEFORE = 14
"""How much of a name may stand before the part of it that is known."""
LONGEST_KIND = 40
"""Letters in a kind's name."""
WINDOW = 1 << 20
"""A stream is looked at in pieces of this size."""
COLOURED = Rule(kind="", pattern=colours.SEQUENCE, literals=colours.LITERALS)
"""No rule, but sought with them: so it costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One secret: where it stands, how far the find around it reaches, and what it is."""

    begin: int
    end: int
    whole: Span
    rank: int
    """Its rule's place: where hits overlap, the first rule names the kind."""
    kind: str


@dataclass(slots=True)
class Redactor:
    """The rules, made ready once, for any number of texts. Counts what it replaced."""

    patterns: Mapping[str, str] = field(default_factory=dict)
    """The user's own: kind and regular expression."""
    counts: Counter[str] = field(default_factory=Counter)
    _rules: tuple[Rule, ...] = field(init=False, repr=False)
    _matcher: Matcher = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._rules = (*own_rules(self.patterns), *RULES)
        self._matcher = LazyMatcher((*self._rules, COLOURED))

    def redact(self, text: str) -> str:
        # Half a surrogate pair is no UTF-8, and may stand in what a program printed.
        return self.redact_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def redact_shown(self, text: str) -> str:
        """Of what a terminal may have shown: secrets that were cut at its edge are found, too."""
        shown = text.encode(errors="surrogatepass")
        hits = self._hits(shown)
        if (piece := wraps.joined(shown)) is not None:
            cut = [hit for hit in self._hits(piece.text) if _crosses(piece, hit)]
            hits = _sorted([*hits, *(_placed(hit, piece) for hit in cut)])
        return self._replace(shown, hits, len(shown)).decode(errors="surrogatepass")

    def redact_bytes(self, text: bytes) -> bytes:
        return self._replace(text, self._hits(text), len(text))

    def redact_stream(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """As ``redact_bytes`` of all blocks together, in pieces, as soon as they are certain.

        An empty block says that nothing more comes for a while: whole lines are then given out.
        """
        held: list[bytes] = []
        size = 0
        for block in blocks:
            held.append(block)
            size += len(block)
            if size < WINDOW and block:
                continue
            text = b"".join(held)
            hits = self._hits(text)
            cut = _before_finds(_cut(text) if block else _cut_at_pause(text), hits)
            yield self._replace(text, hits, cut)
            held, size = [text[cut:]], len(text) - cut
        yield self.redact_bytes(b"".join(held))

    def _hits(self, text: bytes) -> list[Hit]:
        """All hits, from left to right, those that overlap merged."""
        found, is_coloured = self._found(text)
        if is_coloured:
            found += self._in_colours(text)
        return _sorted(found)

    def _in_colours(self, text: bytes) -> Iterator[Hit]:
        for piece in colours.pieces(text):
            for hit in self._found(piece.text)[0]:
                # Cut at its beginning, a word may look like a token.
                if hit.whole[0] > 0 or piece.begin == 0:
                    yield _placed(hit, piece)

    def _found(self, text: bytes) -> tuple[list[Hit], bool]:
        """What is found with its colours blanked, and whether it has any."""
        found, is_coloured = list[Hit](), False
        for begin in range(0, len(text), STEP):
            places = self._candidates(text, begin)
            if not is_coloured and len(self._rules) in places:
                text, is_coloured = colours.blanked(text), True
                places = self._candidates(text, begin)
            for place in places:
                if place < len(self._rules):
                    found += self._hits_of(place, text, begin)
        return found, is_coloured

    def _candidates(self, text: bytes, begin: int) -> Collection[int]:
        return tuple(self._matcher.candidates(text[begin : begin + STEP + SIGN_REACH]))

    def _hits_of(self, place: int, text: bytes, begin: int) -> Iterator[Hit]:
        """What a rule finds that begins in one step; the rest is another step's."""
        rule, end = self._rules[place], begin + STEP
        limit = min(len(text), end + rule.reach)
        for whole, parts in self._matcher.finds(place, text, max(0, begin - BACK), limit):
            if whole[0] >= end:
                return
            if whole[0] < begin:
                continue
            for first, last in parts:
                if _is_innocent(rule, text, whole[0], (first, last)):
                    continue
                size = rule.judge(text[first:last])
                if size and (rule.is_own or _is_text(text[first : first + size])):
                    hit_end = first + size
                    yield Hit(begin=first, end=hit_end, whole=whole, rank=place, kind=rule.kind)

    def _replace(self, text: bytes, hits: list[Hit], end: int) -> bytes:
        parts, last = [], 0
        for hit in hits:
            if hit.begin >= end:
                break
            parts += [text[last : hit.begin], PLACEHOLDER, hit.kind.encode(), b"]"]
            last = hit.end
            self.counts[hit.kind] += 1
        return b"".join([*parts, text[last:end]])


def _placed(hit: Hit, piece: Piece) -> Hit:
    first, last = hit.whole
    return replace(
        hit,
        begin=piece.place(hit.begin),
        end=piece.place(hit.end - 1) + 1,
        whole=(piece.place(first), piece.place(last - 1) + 1),
    )


def _crosses(piece: Piece, hit: Hit) -> bool:
    # What it is known by may stand on the line before it.
    return wraps.crosses(piece, *hit.whole)


def _sorted(found: Iterable[Hit]) -> list[Hit]:
    return list(_merged(sorted(found, key=lambda hit: (hit.begin, hit.rank))))


def _merged(hits: Iterable[Hit]) -> Iterator[Hit]:
    last: Hit | None = None
    for hit in hits:
        if last is None or hit.begin >= last.end:
            if last is not None:
                yield last
            last = hit
            continue
        first = min(last, hit, key=lambda h: h.rank)
        last = Hit(
            begin=last.begin,
            end=max(last.end, hit.end),
            whole=(min(last.whole[0], hit.whole[0]), max(last.whole[1], hit.whole[1])),
            rank=first.rank,
            kind=first.kind,
        )
    if last is not None:
        yield last


def _is_innocent(rule: Rule, text: bytes, begin: int, value: Span) -> bool:
    """Already redacted, the value or the name before it; or the rule excepts such a name."""
    first, last = value
    before = text[max(0, begin - len(PLACEHOLDER) - LONGEST_KIND) : begin + 1]
    opened = before.rfind(PLACEHOLDER)
    if PLACEHOLDER in text[first:last] or (opened >= 0 and b"]" not in before[opened:]):
        return True
    if rule.unless is None:
        return False
    return _is_excepted(rule.unless, text[max(0, begin - NAME_BEFORE) : first])


def _is_text(value: bytes) -> bool:
    """In UTF-8 or Latin-1: among random bytes are some that look like an option and its value."""
    try:
        # Not the last word: a long value is cut, perhaps within a character. Half a surrogate
        # pair may stand in what a program printed.
        codecs.utf_8_decode(value, "surrogatepass", False)
    except UnicodeDecodeError:
        return _CONTROLS.search(value) is None
    return True


_CONTROLS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@lru_cache(maxsize=4096)
def _is_excepted(names: re.Pattern[bytes], before: bytes) -> bool:
    """Remembered: where such a name stands once, it stands a thousand times."""
    return names.search(before) is not None


def _cut(text: bytes) -> int:
    """Up to where a text can be written although more follows.

    At a line's end where there is one, else at least not within a word: what follows is looked at
    as if nothing had been before it.
    """
    most = len(text) - HELD
    cut = text.rfind(b"\n", most - HELD, most) + 1
    if cut == 0:
        cut = max(text.rfind(sign, most - HELD, most) + 1 for sign in (b" ", b'"', b","))
    return cut or most


def _cut_at_pause(text: bytes) -> int:
    """After the last whole line, unless a secret of several lines may have begun."""
    cut = text.rfind(b"\n") + 1
    for found in _OPENED.finditer(text, max(0, cut - HELD), cut):
        if _goes_on(text[found.start() : cut]):
            return text.rfind(b"\n", 0, found.start()) + 1
    return cut


def _goes_on(begun: bytes) -> bool:
    """Whether the last lines look as if they belonged to a key, or to an entry of a .netrc."""
    if not begun.startswith((b"-----", b"Private")):
        return begun.count(b"\n") <= 2
    last = begun.splitlines()[1:][-2:]
    is_key = all(b" " not in line.strip() or b": " in line for line in last)
    return is_key and b"-----END" not in begun


def _before_finds(cut: int, hits: list[Hit]) -> int:
    """Not within a find, which would be cut in two."""
    for hit in reversed(hits):
        begin, end = hit.whole
        if begin < cut < end and end - begin <= HELD:
            cut = begin
    return cut


_OPENED = re.compile(
    rb"(?m)-----BEGIN [A-Z0-9 ]*PRIVATE KEY|^Private-Lines: "
    rb"|^[ \t]*(?:machine|default|login|account)[ \t]+\S+[ \t]*$"
)
