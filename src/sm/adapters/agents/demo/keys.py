"""Bytes from the terminal as keys and pastes, however they were cut into reads."""

import codecs
import re
from enum import Enum, auto
from typing import NamedTuple


class Key(Enum):
    ENTER = auto()
    ESCAPE = auto()
    BACKSPACE = auto()
    UP = auto()
    DOWN = auto()
    CTRL_C = auto()
    CTRL_D = auto()
    CTRL_S = auto()
    CTRL_U = auto()


class Text(NamedTuple):
    """Characters typed one after the other."""

    text: str


class Paste(NamedTuple):
    """A whole bracketed paste; its line ends are LF."""

    text: str


Press = Key | Text | Paste

_PASTE_START = b"\x1b[200~"
_PASTE_END = b"\x1b[201~"
_CONTROLS = {
    0x0D: Key.ENTER,
    0x7F: Key.BACKSPACE,
    0x08: Key.BACKSPACE,
    0x03: Key.CTRL_C,
    0x04: Key.CTRL_D,
    0x13: Key.CTRL_S,
    0x15: Key.CTRL_U,
}
_ARROWS = {b"\x1b[A": Key.UP, b"\x1bOA": Key.UP, b"\x1b[B": Key.DOWN, b"\x1bOB": Key.DOWN}
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?<]*[ -/]*[@-~]|O[@-~])")
_PLAIN = re.compile(rb"[^\x00-\x09\x0b-\x1f\x7f]+")


class Keys:
    """Feed it reads; it gives back presses."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._pasting: bytearray | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def escape_pending(self) -> bool:
        """A lone ESC came last: the Escape key, unless more follows at once."""
        return self._pasting is None and bytes(self._rest) == b"\x1b"

    def escape(self) -> list[Press]:
        """Nothing followed the ESC."""
        self._rest.clear()
        return [Key.ESCAPE]

    def feed(self, read: bytes) -> list[Press]:
        """The presses this read completes."""
        self._rest += read
        presses: list[Press] = []
        while self._rest and (step := self._step(presses)):
            del self._rest[:step]
        return presses

    def _step(self, presses: list[Press]) -> int:
        """Take one thing off the front; how many bytes it was, 0 when more must come."""
        if self._pasting is not None:
            return self._paste(presses)
        if self._rest[0] == 0x1B:
            return self._escape_sequence(presses)
        found = _PLAIN.match(self._rest)
        if found:
            text = self._decoder.decode(found.group())
            presses.extend([Text(text)] if text else [])
            return found.end()
        key = _CONTROLS.get(self._rest[0])
        presses.extend([key] if key else [])
        return 1

    def _escape_sequence(self, presses: list[Press]) -> int:
        if self._rest.startswith(_PASTE_START):
            self._pasting = bytearray()
            return len(_PASTE_START)
        found = _SEQUENCE.match(self._rest)
        if found:
            arrow = _ARROWS.get(found.group())
            presses.extend([arrow] if arrow else [])
            return found.end()
        if len(self._rest) == 1 or self._rest[1] in b"[O":
            return 0
        if self._rest[1] == 0x1B:
            presses.append(Key.ESCAPE)
            return 1
        # Alt and a character: this is how "/clear" right after an Escape loses its "/".
        return 2

    def _paste(self, presses: list[Press]) -> int:
        assert self._pasting is not None
        end = self._rest.find(_PASTE_END)
        if end < 0:
            # The end marker may be cut in two by the read.
            taken = max(0, len(self._rest) - len(_PASTE_END) + 1)
            self._pasting += self._rest[:taken]
            return taken
        self._pasting += self._rest[:end]
        # tmux sends a line end as CR.
        text = self._pasting.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        presses.append(Paste(text))
        self._pasting = None
        return end + len(_PASTE_END)
