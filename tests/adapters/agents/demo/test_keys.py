"""Bytes from a terminal as keys and pastes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.adapters.agents.demo.keys import Key, Keys, Paste, Press, Text


def pressed(*reads: bytes) -> list[Press]:
    keys = Keys()
    return [press for read in reads for press in keys.feed(read)]


@pytest.mark.parametrize(
    ("read", "presses"),
    [
        (b"abc", [Text("abc")]),
        (b"a\nb", [Text("a\nb")]),
        (b"hi\r", [Text("hi"), Key.ENTER]),
        (b"\x03\x04\x13\x15\x7f", [Key.CTRL_C, Key.CTRL_D, Key.CTRL_S, Key.CTRL_U, Key.BACKSPACE]),
        (b"\x1b[A\x1bOB", [Key.UP, Key.DOWN]),
        (b"\x1b[1;5Cx\x1b[I", [Text("x")]),
        (b"a\tb", [Text("a"), Text("b")]),
        (b"\x1b[200~a\rb\x1b[201~\r", [Paste("a\nb"), Key.ENTER]),
        (b"\x1b[200~\x1b[A\x03\x1b[201~", [Paste("\x1b[A\x03")]),
        ("漢😀".encode(), [Text("漢😀")]),
    ],
)
def test_a_read_is_a_row_of_presses(read: bytes, presses: list[Press]) -> None:
    assert pressed(read) == presses


def test_a_lone_escape_is_a_key_once_nothing_follows() -> None:
    keys = Keys()

    assert keys.feed(b"\x1b") == []
    assert keys.escape_pending
    assert keys.escape() == [Key.ESCAPE]
    assert not keys.escape_pending


def test_two_escapes_are_two_keys() -> None:
    keys = Keys()

    assert keys.feed(b"\x1b\x1b") == [Key.ESCAPE]
    assert keys.escape() == [Key.ESCAPE]


def test_a_character_right_after_an_escape_is_eaten() -> None:
    """As in Claude Code, "/clear" in the same read as an Escape loses its "/"."""
    assert pressed(b"\x1b/clear") == [Text("clear")]


@given(st.text(st.characters(exclude_characters="\x1b", exclude_categories=["Cs"])), st.data())
def test_a_paste_is_whole_however_it_is_cut(text: str, data: st.DataObject) -> None:
    stream = b"\x1b[200~" + text.encode() + b"\x1b[201~"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    reads = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    expected = text.replace("\r\n", "\n").replace("\r", "\n")
    assert pressed(*reads) == [Paste(expected)]


@given(st.text("aä漢😀", min_size=1), st.data())
def test_typed_text_is_whole_however_it_is_cut(text: str, data: st.DataObject) -> None:
    stream = text.encode()
    cut = data.draw(st.integers(0, len(stream)))

    pieces = pressed(stream[:cut], stream[cut:])
    assert "".join(piece.text for piece in pieces if isinstance(piece, Text)) == text
