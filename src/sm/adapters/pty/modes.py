"""Which modes of the terminal a program has switched on, and how to switch them off again.

A program that is killed cannot tidy up behind itself. Only what it really changed is undone: to
leave an alternate screen that was never entered would move the cursor.
"""

import re

# Set or reset private modes; push, set or pop keyboard flags; modifyOtherKeys.
_SEQUENCE = re.compile(
    rb"\x1b\[(?:\?(?P<modes>[\d;]+)(?P<on>[hl])|(?P<sign>[<>=])[\d;:]*u|>4(?:;(?P<keys>\d))?m)"
)
_UNFINISHED = re.compile(rb"\x1b(\[([?<>=][\d;:]{0,32})?)?\Z")
_SCREENS = ("1049", "1047", "47")
_ON_BY_DEFAULT = frozenset({"7", "25"})
_UNDONE = frozenset(
    {"1", "6", "7", "9", "25", "66", "1000", "1001", "1002", "1003", "1004", "1005", "1006",
     "1007", "1015", "1016", "2004", "2026", "2031", "2048", *_SCREENS}
)  # fmt: skip


class Modes:
    """Fed with every byte a program writes, in any pieces."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._changed: dict[str, bool] = {}
        self._keyboards = 0
        """How many sets of keyboard flags were pushed; each screen has its own stack."""
        self._other_keys = False
        self._held = b""

    def feed(self, output: bytes) -> None:
        if self._held:
            output = self._held + output
        # Plain text passes at the speed of a search for one byte.
        if b"\x1b" not in output:
            self._held = b""
            return
        for found in _SEQUENCE.finditer(output):
            self._note(found)
        cut = _UNFINISHED.search(output, max(0, len(output) - 40))
        self._held = cut.group() if cut else b""

    def _note(self, found: "re.Match[bytes]") -> None:
        if found["modes"]:
            for mode in found["modes"].decode().split(";"):
                self._switch(mode, found["on"] == b"h")
        elif found["sign"] == b">":
            self._keyboards += 1
        elif found["sign"] == b"<":
            self._keyboards = max(0, self._keyboards - 1)
        elif found["sign"] == b"=":
            self._keyboards = max(1, self._keyboards)
        else:
            self._other_keys = found["keys"] not in (None, b"0")

    def _switch(self, mode: str, on: bool) -> None:
        if mode not in _UNDONE:
            return
        if on is (mode in _ON_BY_DEFAULT):
            self._changed.pop(mode, None)
        else:
            self._changed[mode] = on

    def undo(self) -> bytes:
        """What puts the terminal right; from here on nothing is known to be changed."""
        written = [b"\x1b[<%du" % self._keyboards] if self._keyboards else []
        if self._other_keys:
            written.append(b"\x1b[>4m")
        # The screen last: what belongs to the other screen is undone while it is shown.
        changed = sorted(self._changed.items(), key=lambda change: change[0] in _SCREENS)
        written += [f"\x1b[?{mode}{'l' if on else 'h'}".encode() for mode, on in changed]
        self._begin()
        return b"".join(written)
