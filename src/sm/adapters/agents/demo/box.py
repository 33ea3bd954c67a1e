"""The prompt box: what is typed, and how it is drawn so that Claude Code's reader reads it."""

import re

from sm.adapters.agents.demo import cells

FOLD_LINES = 3
FOLD_CHARACTERS = 800
_FOLDED = re.compile(r"\[Pasted text #(\d+)(?: \+\d+ lines)?\]")
_FOLDED_LAST = re.compile(_FOLDED.pattern + r"\Z")
_MARK = "❯\xa0"


class Box:
    """Text with the cursor at its end; a long paste stands in it as one folded word."""

    def __init__(self) -> None:
        self.shown = ""
        self._pastes: dict[str, str] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self.shown)

    @property
    def text(self) -> str:
        """What a submit means: every fold opened."""
        return _FOLDED.sub(lambda fold: self._pastes.get(fold.group(), fold.group()), self.shown)

    def type(self, text: str) -> None:
        self.shown += text

    def paste(self, text: str) -> None:
        lines = text.count("\n")
        if lines < FOLD_LINES and len(text) <= FOLD_CHARACTERS:
            self.shown += text
            return
        self._count += 1
        fold = f"[Pasted text #{self._count}{f' +{lines} lines' if lines else ''}]"
        self._pastes[fold] = text
        self.shown += fold

    def backspace(self) -> None:
        fold = _FOLDED_LAST.search(self.shown)
        self.shown = self.shown[: fold.start()] if fold else self.shown[:-1]

    def continue_line(self) -> bool:
        """A trailing backslash and Enter make a line end. Whether it was one."""
        if not self.shown.endswith("\\"):
            return False
        self.shown = self.shown[:-1] + "\n"
        return True

    def clear(self) -> None:
        self.shown = ""
        self._pastes.clear()

    def swap(self, other: "Box | None") -> None:
        """Take over what another box holds; None empties this one."""
        self.clear()
        if other is not None:
            self.shown = other.shown
            self._pastes = dict(other._pastes)

    def copy(self) -> "Box":
        other = Box()
        other.swap(self)
        return other

    def draw(self, columns: int, rows: int) -> tuple[list[str], int]:
        """The lines between the rules, and the cursor's column in the last of them."""
        pieces = cells.wrap(cells.plain(self.shown), max(1, columns - 3))[-max(1, rows) :]
        lines = [_MARK + pieces[0], *("  " + piece for piece in pieces[1:])]
        return lines, 2 + cells.width(pieces[-1])
