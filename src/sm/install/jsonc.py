"""JSON with comments, changed by the smallest possible edit of its text.

A document is its text and where each value stands in it. An edit gives a new text in which every
other character is as it was: comments, order, indentation, line ends, a byte order mark. Trailing
commas are understood. Edits follow the style they find: a value is spread over lines where its
neighbours are. Knows nothing of files and nothing of what the values mean.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

DEEPEST = 200
_SPACE = " \t\r\n"
_TRIVIA = re.compile(r"[ \t\r\n]+|(?P<comment>//[^\r\n]*|/\*.*?\*/)", re.S)
_STRING = re.compile(
    r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"', re.S
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_LINE_END = re.compile(r"\r\n|\n|\r")

Scalar = str | int | float | bool | None


class JsoncError(Exception):
    """The text is not JSON, or not of the shape that was asked for; says where."""

    def __init__(self, words: str, text: str, at: int) -> None:
        super().__init__(words)
        self.words = words
        lines = _LINE_END.split(text[:at].removeprefix("\ufeff"))
        self.line, self.column = len(lines), len(lines[-1]) + 1


@dataclass(frozen=True, slots=True)
class Node:
    """One value and its place: ``text[start:end]``."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    items: tuple["Item", ...] = ()
    scalar: Scalar = None

    def last(self, key: str) -> "Item | None":
        """The member that counts: of two with one name, readers take the last."""
        return next((item for item in reversed(self.items) if item.key == key), None)

    def value(self) -> object:
        if self.kind == "object":
            return {item.key: item.node.value() for item in self.items}
        if self.kind == "array":
            return [item.node.value() for item in self.items]
        return self.scalar


@dataclass(frozen=True, slots=True)
class Item:
    """A member of an object or an element of an array."""

    key: str | None
    start: int
    """Where its key begins, or the value of an element."""
    node: Node
    comma: int | None
    """Where the comma behind it stands."""


class Document:
    """A text that was read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._comments: list[tuple[int, int]] = []
        start = self._skip(1 if text.startswith("\ufeff") else 0)
        self.root = self._value(start, 0)
        rest = self._skip(self.root.end)
        if rest < len(text):
            raise self.error("there is something behind the end", rest)

    def error(self, words: str, at: int) -> JsoncError:
        return JsoncError(words, self.text, at)

    def line_of_first_extra(self) -> int | None:
        """Where strict JSON ends: the line of the first comment or trailing comma, if any."""
        extras = [start for start, _ in self._comments] + list(_trailing_commas(self.root))
        return self.error("", min(extras)).line if extras else None

    # --- reading ---------------------------------------------------------------------------

    def _skip(self, at: int) -> int:
        while found := _TRIVIA.match(self.text, at):
            if found["comment"]:
                self._comments.append(found.span())
            at = found.end()
        if self.text.startswith("/*", at):
            raise self.error("a comment is not closed", at)
        return at

    def _value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.error("it is nested too deeply", at)
        first = self.text[at : at + 1]
        if first in ("{", "["):
            return self._container(at, depth)
        if found := _STRING.match(self.text, at):
            return Node("scalar", at, found.end(), scalar=str(json.loads(found[0])))
        if found := _NUMBER.match(self.text, at):
            return Node("scalar", at, found.end(), scalar=_number(found[0]))
        for word, value in _WORDS.items():
            if self.text.startswith(word, at):
                return Node("scalar", at, at + len(word), scalar=value)
        raise self.error("a value is missing" if first else "it ends too early", at)

    def _container(self, start: int, depth: int) -> Node:
        is_object = self.text[start] == "{"
        close = "}" if is_object else "]"
        items: list[Item] = []
        at = self._skip(start + 1)
        while not self.text.startswith(close, at):
            if items and items[-1].comma is None:
                raise self.error(f"a comma or {close} is missing", at)
            item = self._item(at, depth, is_object=is_object)
            items.append(item)
            at = self._skip(item.node.end if item.comma is None else item.comma + 1)
        return Node("object" if is_object else "array", start, at + 1, tuple(items))

    def _item(self, start: int, depth: int, *, is_object: bool) -> Item:
        key, at = None, start
        if is_object:
            found = _STRING.match(self.text, start)
            if found is None:
                ends = start >= len(self.text)
                raise self.error("it ends too early" if ends else "a name is missing", start)
            key = str(json.loads(found[0]))
            at = self._skip(found.end())
            if not self.text.startswith(":", at):
                raise self.error("a colon is missing", at)
            at = self._skip(at + 1)
        node = self._value(at, depth + 1)
        behind = self._skip(node.end)
        return Item(key, start, node, behind if self.text.startswith(",", behind) else None)

    # --- editing ---------------------------------------------------------------------------

    def with_value(self, node: Node, value: object) -> str:
        """Another value in the place of this one, on one line."""
        return _edited(self.text, [(node.start, node.end, json.dumps(value, ensure_ascii=False))])

    def with_item(self, container: Node, key: str | None, value: object) -> str:
        """One more item at the container's end."""
        solid = self._solid_before(container.end - 1)
        spread = self._is_spread(container) or self._in_line_comment(solid)
        indent = self._item_indent(container) if spread else ""
        item = self._rendered(key, value, indent, spread=spread)
        if not container.items:
            behind = self._newline + self._indent_of(container.start) if spread else ""
            begin = self._newline + indent if spread else ""
            rest = container.end - 1 if spread else solid
            return _edited(self.text, [(solid, rest, f"{begin}{item}{behind}")])
        begin = self._newline + indent if spread else self._gap
        last = container.items[-1]
        if last.comma is not None:
            return _edited(self.text, [(solid, solid, f"{begin}{item},")])
        # The comma directly behind the last value: a comment that follows stays that value's.
        end = last.node.end
        return _edited(self.text, [(end, end, ","), (solid, solid, f"{begin}{item}")])

    def without_item(self, container: Node, item: Item) -> str:
        """The item with the space before it and its comma; comments around it stay."""
        items = container.items
        cuts = [(self._cut_start(item), item.node.end, "")]
        if item.comma is not None:
            cuts.append((item.comma, item.comma + 1, ""))
            if item is items[0] and cuts[0][0] == item.start:
                cuts[-1] = (item.comma, self._inline_space_end(item.comma + 1), "")
        elif len(items) > 1 and (before := items[-2].comma) is not None:
            cuts.insert(0, (before, before + 1, ""))
        return _edited(self.text, cuts)

    def _cut_start(self, item: Item) -> int:
        start = self._solid_before(item.start)
        behind = _LINE_END.split(self.text[item.node.end :], maxsplit=1)[0].strip()
        if self._in_line_comment(start) and behind not in ("", ","):
            return item.start  # or what follows would become part of the comment
        return start

    def inner(self, container: Node) -> str:
        return self.text[container.start + 1 : container.end - 1]

    # --- style -----------------------------------------------------------------------------

    @property
    def _newline(self) -> str:
        found = _LINE_END.search(self.text)
        return found[0] if found else "\n"

    @property
    def _gap(self) -> str:
        """What stands behind a colon or a comma on one line."""
        first = self.root.items[0] if self.root.items else None
        if first is None or first.key is None:
            return " "
        return " " if self.text[first.node.start - 1] in _SPACE else ""

    @property
    def _unit(self) -> str:
        """One step of indentation."""
        if not self.root.items or not self._starts_line(self.root.items[0]):
            return "  "
        first = self._indent_of(self.root.items[0].start)
        return first.removeprefix(self._indent_of(self.root.start))

    def _is_spread(self, container: Node) -> bool:
        """Whether items of this container stand on lines of their own."""
        if container.items:
            return self._starts_line(container.items[0])
        whole = self.text[self.root.start : self.root.end]
        return container is self.root or _LINE_END.search(whole) is not None

    def _starts_line(self, item: Item) -> bool:
        return self.text[: item.start].rstrip(" \t").endswith(("\n", "\r"))

    def _item_indent(self, container: Node) -> str:
        if container.items and self._starts_line(container.items[0]):
            return self._indent_of(container.items[0].start)
        return self._indent_of(container.start) + self._unit

    def _indent_of(self, at: int) -> str:
        line = _LINE_END.split(self.text[:at].removeprefix("\ufeff"))[-1]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _rendered(self, key: str | None, value: object, indent: str, *, spread: bool) -> str:
        if spread:
            shown = json.dumps(value, ensure_ascii=False, indent=self._unit)
            shown = shown.replace("\n", self._newline + indent)
            gap = " "
        else:
            gap = self._gap
            separators = (f",{gap}", f":{gap}")
            shown = json.dumps(value, ensure_ascii=False, separators=separators)
        return shown if key is None else f"{json.dumps(key, ensure_ascii=False)}:{gap}{shown}"

    def _solid_before(self, at: int) -> int:
        """Where the last thing before this place ends; spaces at a comment's end belong to it."""
        solid = len(self.text[:at].rstrip(_SPACE))
        return next((end for start, end in self._comments if start < solid < end), solid)

    def _in_line_comment(self, at: int) -> bool:
        return any(end == at and self.text.startswith("//", s) for s, end in self._comments)

    def _inline_space_end(self, at: int) -> int:
        end = at + len(self.text[at:]) - len(self.text[at:].lstrip(" \t"))
        return at if self.text[end : end + 1] in ("\n", "\r", "/") else end


def _trailing_commas(node: Node) -> Iterator[int]:
    if node.items and (comma := node.items[-1].comma) is not None:
        yield comma
    for item in node.items:
        yield from _trailing_commas(item.node)


def _number(digits: str) -> Scalar:
    try:
        return float(digits) if set(digits) & set(".eE") else int(digits)
    except ValueError:  # thousands of digits: Python will not convert them, nor need we
        return digits


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    """Each edit replaces one stretch; they are given from left to right."""
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text
