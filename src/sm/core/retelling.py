"""A conversation told again in a given space: the newest exactly, the older in ever fewer words.

What a person asked is kept word for word as far back as there is room; an agent's words are cut
before that, and what tools printed goes first of all, but for a part of the very last. Whatever is
left out is said. Sizes are bytes of UTF-8.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from sm.core.exchange import SM, Deed, Exchange, Role
from sm.core.shortening import brief, count, cut, fenced, size

When = Callable[[float], str]
FULL, SHORT = 0.6, 0.85
"""How much of the space is for what is told in full, and how much for that and what is told in
short; the rest is for older requests."""
REPLY, SHORT_REPLY = 6_000, 300
SUMMARY = 12_000
CALL = 220
"""Characters of what a tool was called with."""
OUTPUT, FAILED_OUTPUT = 1_200, 2_000
LAST_OUTPUTS = 3
"""Of so many calls what they printed is told in any case, in a twentieth of the space each."""
OVERHEAD = 400
"""Bytes for what is said of the whole."""
SMALLEST = 600
_TRIES = (1.0, 0.9, 0.75, 0.5, 0.25)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What there is space for."""

    size: int
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    text: str
    lines: int
    shown: int
    """How many exchanges are in it, in whatever form."""


NOTHING = Told(text="", lines=0, shown=0)


def retell(exchanges: Sequence[Exchange], room: Room, when: When) -> Told:
    """As much as fits, oldest first, between fences."""
    if not exchanges or room.size < SMALLEST or room.lines < 1:
        return NOTHING
    for part in _TRIES:
        # Fences grow with what stands between them: what is too long for once is told in less.
        told = _Telling(exchanges, Room(size=int(room.size * part), lines=room.lines), when).told()
        if size(told.text) <= room.size:
            return told
    return NOTHING


def newest_lines(lines: Sequence[str], room: Room) -> Told:
    """The end of a text that is not understood, as it is, between fences."""
    kept: list[str] = []
    left = room.size - OVERHEAD
    for line in reversed(lines[-room.lines :] if room.lines > 0 else []):
        left -= size(line) + 1
        if left < 0:
            break
        kept.append(line)
    text = fenced("\n".join(reversed(kept))) if kept else ""
    if size(text) > room.size:
        half = Room(size=room.size // 2, lines=room.lines)
        return newest_lines(lines, half) if room.size > SMALLEST else NOTHING
    return Told(text=text, lines=len(kept), shown=0)


class _Form(IntEnum):
    """How much of an exchange is told: less and less, the older it is."""

    FULL = 0
    SHORT = 1
    REQUESTS = 2


class _Telling:
    """Fills the room from the newest exchange back, then puts it in order."""

    def __init__(self, exchanges: Sequence[Exchange], room: Room, when: When) -> None:
        self._exchanges = exchanges
        self._when = when
        self._room = Room(size=max(1, room.size - OVERHEAD), lines=room.lines)
        self._size, self._lines = self._room.size, room.lines
        self._texts: dict[int, str] = {}
        self._in_full = len(exchanges)
        """From this exchange on, all are told in full."""
        printed = [n for n, e in enumerate(exchanges) if e.result and e.result.output.strip()]
        self._last_outputs = printed[-LAST_OUTPUTS:]

    def told(self) -> Told:
        self._latest_request()
        self._fill()
        self._outputs()
        shown = [self._texts[n] for n in sorted(self._texts)]
        if not shown:
            return NOTHING
        block = "\n".join(shown)
        text = f"{self._said()}\n\n{fenced(block)}"
        lines = sum(_lines(one) for one in shown)
        return Told(text=text, lines=lines, shown=len(shown))

    def _latest_request(self) -> None:
        """Before all else: it must be there whole, whatever came after it."""
        found = (n for n in reversed(range(len(self._exchanges))) if self._is_request(n))
        if (latest := next(found, None)) is not None:
            self._request(latest, self._size * 3 // 4)

    def _fill(self) -> None:
        form = _Form.FULL
        for number in reversed(range(len(self._exchanges))):
            form = max(form, self._form())
            while number not in self._texts and not self._tell(number, form):
                if form is _Form.REQUESTS:
                    return
                form = _Form(form + 1)
            if form is _Form.FULL:
                self._in_full = number

    def _form(self) -> _Form:
        left = min(self._size / self._room.size, self._lines / self._room.lines)
        if 1 - left < FULL:
            return _Form.FULL
        return _Form.SHORT if 1 - left < SHORT else _Form.REQUESTS

    def _tell(self, number: int, form: _Form) -> bool:
        """Whether older ones may be told too."""
        exchange = self._exchanges[number]
        if exchange.is_request:
            is_last = form is _Form.REQUESTS
            return self._request(number, self._size) if is_last else self._whole(number)
        match form:
            case _Form.FULL if number in self._last_outputs:
                output = _output(exchange, self._room.size // 20)
                return self._put(number, f"{called(exchange)}\n{output}")
            case _Form.FULL:
                return self._put(number, self._plain(exchange))
            case _Form.SHORT:
                return self._put(number, self._short(exchange))
            case _Form.REQUESTS:
                return True

    def _whole(self, number: int) -> bool:
        return self._put(number, self._asked(self._exchanges[number]))

    def _request(self, number: int, limit: int) -> bool:
        """Word for word, or as much of its beginning and its end as there is room for."""
        asked = self._exchanges[number]
        if size(self._asked(asked)) < limit and self._whole(number):
            return True
        head = self._head(asked)
        lines = asked.text.split("\n")
        if len(lines) >= self._lines:
            half = max(0, self._lines - 4) // 2
            lines = [*lines[:half], "…", *lines[len(lines) - half :]]
        text = cut("\n".join(lines), max(0, limit - size(head) - 2))
        self._put(number, f"{head}\n{text}")
        return False

    def _outputs(self) -> None:
        """What is left goes to what the last tools printed."""
        for number in reversed(range(self._in_full, len(self._exchanges))):
            output = _output(self._exchanges[number], FAILED_OUTPUT)
            if number in self._last_outputs or number not in self._texts or not output:
                continue
            if not self._fits(output):
                return
            self._take(output)
            self._texts[number] += f"\n{output}"

    def _is_request(self, number: int) -> bool:
        return self._exchanges[number].is_request

    def _put(self, number: int, text: str) -> bool:
        if not text:
            return True  # there is nothing to tell of it
        if not self._fits(text):
            return False
        self._take(text)
        self._texts[number] = text
        return True

    def _fits(self, text: str) -> bool:
        return size(text) + 1 <= self._size and _lines(text) <= self._lines

    def _take(self, text: str) -> None:
        self._size -= size(text) + 1
        self._lines -= _lines(text)

    def _said(self) -> str:
        if len(self._texts) == len(self._exchanges) and self._in_full == 0:
            return "Oldest first:"
        full = count(len(self._exchanges) - self._in_full, "exchange")
        rest = sum(number < self._in_full for number in self._texts)
        short = f", {rest} before in short, requests word for word" if rest else ""
        return f"Oldest first. The last {full} in full{short}; the rest left out:"

    # --- one exchange

    def _plain(self, exchange: Exchange) -> str:
        """In full but for what was printed."""
        match exchange.role:
            case Role.ASKED:
                return self._told(exchange, min(SUMMARY, self._room.size // 4))
            case Role.SAID:
                limit = min(REPLY, self._room.size // 6)
                return f"[you said]\n{cut(exchange.text, limit)}"
            case Role.SUMMED:
                limit = min(SUMMARY, self._room.size // 4)
                return f"[your own summary of all before]\n{cut(exchange.text, limit)}"
            case Role.CALLED:
                return called(exchange)
            case _:
                return f"[note] {brief(exchange.text, CALL)}"

    def _short(self, exchange: Exchange) -> str:
        match exchange.role:
            case Role.ASKED:
                return self._told(exchange, min(REPLY, self._room.size // 8))
            case Role.SAID:
                return f"[you said]\n{brief(exchange.text, SHORT_REPLY)}"
            case Role.SUMMED:
                limit = min(REPLY, self._room.size // 8)
                return f"[your own summary of all before]\n{cut(exchange.text, limit)}"
            case Role.CALLED if exchange.deed in (Deed.COMMAND, Deed.CHANGE):
                return called(exchange)
            case _:
                return ""

    def _told(self, exchange: Exchange, limit: int) -> str:
        """By sm itself: nobody's own words, and mostly of what was before."""
        return f"{self._head(exchange)}\n{cut(exchange.text, limit)}"

    def _asked(self, exchange: Exchange) -> str:
        return f"{self._head(exchange)}\n{exchange.text}"

    def _head(self, exchange: Exchange) -> str:
        who = f"the session {brief(exchange.sender, 60)}" if exchange.sender else "the person"
        who = SM if exchange.sender == SM else who
        when = f", {self._when(exchange.at)}" if exchange.at else ""
        waits = ", not given to you yet" if exchange.is_waiting else ""
        return f"[{who}{when}{waits}]"


def _output(call: Exchange, limit: int) -> str:
    if call.result is None:
        return ""
    limit = min(limit, FAILED_OUTPUT if call.result.is_failed else OUTPUT)
    return cut(call.result.output.strip("\n"), limit) if call.result.output.strip() else ""


def called(call: Exchange) -> str:
    """A call in one line, with what came of it."""
    if call.result is None:
        outcome = "no result on record"
    else:
        outcome = "failed" if call.result.is_failed else "ok"
    return f"[tool] {call.tool}: {brief(call.text, CALL)} → {outcome}"


def _lines(text: str) -> int:
    return text.count("\n") + 1


def requests(exchanges: Iterable[Exchange]) -> int:
    return sum(e.is_request for e in exchanges)


def replies(exchanges: Iterable[Exchange]) -> int:
    return sum(e.role is Role.SAID for e in exchanges)
