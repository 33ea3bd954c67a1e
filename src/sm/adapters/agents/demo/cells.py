"""How wide text is on a terminal, and where it breaks."""

import unicodedata


def char_width(char: str) -> int:
    if char < "\u0300":
        return 1
    if unicodedata.combining(char) or char in "\u200b\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(char_width, text))


def wrap(text: str, columns: int) -> list[str]:
    """Screen lines of at most this many columns; a line end always begins a new one."""
    return [piece for line in text.split("\n") for piece in _wrap_line(line, columns)]


def _wrap_line(line: str, columns: int) -> list[str]:
    if width(line) <= columns:
        return [line]
    pieces, piece, used = [], "", 0
    for char in line:
        cells = char_width(char)
        if used + cells > columns:
            pieces.append(piece)
            piece, used = "", 0
        piece += char
        used += cells
    return [*pieces, piece]


def plain(text: str) -> str:
    """Text that cannot move the cursor: tabs as spaces, no other control but the line end."""
    text = text.replace("\r\n", "\n").expandtabs(4)
    return "".join(char for char in text if char == "\n" or char.isprintable() or char == "\xa0")
