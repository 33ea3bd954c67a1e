"""One line of a table in a TOML file, put in or taken out; all else stays byte for byte.

Places are guessed from the text and proved by reading the result: it must say exactly what was
wanted. A file written in another style than ``key = value`` lines is refused, never rearranged.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any


class TableError(Exception):
    """No line can be put in or taken out there; nothing is wrong with the file itself."""


def with_entry(text: str, table: str, key: str, value: str) -> str:
    """The text with one more entry in the table, at its end; with the table, if it has none."""
    raw = tomllib.loads(text)
    wanted = {**raw, table: {**raw.get(table, {}), key: value}}
    line = f"{quoted(key)} = {quoted(value)}"
    return _first_that_says(wanted, _insertions(text, table, line))


def without_entry(text: str, table: str, key: str) -> str:
    """The text without the line of this entry."""
    raw = tomllib.loads(text)
    rest = {name: told for name, told in raw.get(table, {}).items() if name != key}
    lines = _lines(text)
    shorter = (
        "".join(lines[:number] + lines[number + 1 :])
        for number, line in enumerate(lines)
        if _is_entry(line)
    )
    return _first_that_says({**raw, table: rest}, shorter)


def quoted(text: str) -> str:
    """As TOML writes it: JSON, but for one control character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _first_that_says(wanted: dict[str, Any], candidates: Iterator[str]) -> str:
    for candidate in candidates:
        try:
            if tomllib.loads(candidate) == wanted:
                return candidate
        except tomllib.TOMLDecodeError:
            continue
    raise TableError


def _insertions(text: str, table: str, line: str) -> Iterator[str]:
    lines = _lines(text)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    for number, header in enumerate(lines):
        if re.fullmatch(rf"\s*\[\s*[\"']?{table}[\"']?\s*\]\s*(#.*)?\s*", header):
            for place in (_last_entry(lines, number), number):
                yield _inserted(lines, place + 1, f"{line}{end}", end)
    gap = end if text.strip() else ""
    yield _inserted(lines, len(lines), f"{gap}[{table}]{end}{line}{end}", end)


def _last_entry(lines: list[str], header: int) -> int:
    """Where the table's last entry is: comments below it may belong to the next table."""
    last = header
    for number in range(header + 1, len(lines)):
        if lines[number].lstrip().startswith("["):
            break
        if _is_entry(lines[number]):
            last = number
    return last


def _inserted(lines: list[str], place: int, new: str, end: str) -> str:
    before = "".join(lines[:place])
    gap = "" if not before or before.endswith("\n") else end
    return f"{before}{gap}{new}{''.join(lines[place:])}"


def _is_entry(line: str) -> bool:
    return "=" in line and not line.lstrip().startswith("#")


def _lines(text: str) -> list[str]:
    """With their ends. By line feeds alone: others may stand inside a comment."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
