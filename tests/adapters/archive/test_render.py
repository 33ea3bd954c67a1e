"""Known bytes in, the lines a person saw out."""

import json
from pathlib import Path

import pytest

from sm.adapters.archive import render as rendering
from sm.adapters.archive.render import CHUNK, render, tail


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return tmp_path / "raw.log"


def _rendered(raw: Path, content: bytes, *sizes: tuple[int, int, int]) -> list[str]:
    raw.write_bytes(content)
    steps = [json.dumps({"offset": o, "cols": c, "rows": r}) for o, c, r in sizes]
    (raw.parent / "sizes.jsonl").write_text("".join(f"{step}\n" for step in steps))
    return render(raw, raw.parent / "sizes.jsonl")


def test_a_missing_log_has_no_lines(raw: Path) -> None:
    """A session that never showed anything has an empty history."""
    assert render(raw, raw.parent / "sizes.jsonl") == []


def test_plain_lines_come_out_as_they_are(raw: Path) -> None:
    """Colours and trailing blanks are gone, the words are there."""
    assert _rendered(raw, b"one   \r\n\x1b[31mtwo\x1b[0m\r\n\r\nfour\r\n") == [
        "one", "two", "", "four",
    ]  # fmt: skip


def test_a_part_of_the_log_begins_with_a_screen_of_its_own(raw: Path) -> None:
    """In the size it had there; nothing of what came before shows through."""
    before, after = b"\x1b[?1049hbefore\r\n", b"abcdefgh\r\nend"
    sizes = (0, 20, 5), (len(before), 4, 5), (len(before + after), 20, 5)
    _rendered(raw, before + after, *sizes)

    rendered = render(raw, raw.parent / "sizes.jsonl", len(before))
    assert rendered == ["abcd", "efgh", "end"]


def test_what_scrolled_off_is_kept_in_order(raw: Path) -> None:
    """A hundred lines on a screen of five: all hundred."""
    said = [f"line {n}" for n in range(100)]

    assert _rendered(raw, "\r\n".join(said).encode(), (0, 20, 5)) == said


def test_a_redrawn_line_is_there_once_in_its_last_form(raw: Path) -> None:
    """A progress bar is one line, not fifty."""
    bar = b"".join(b"\r%d%%" % n for n in range(0, 101, 2))

    assert _rendered(raw, bar + b"\r\nready") == ["100%", "ready"]


@pytest.mark.parametrize(
    "erase",
    [b"\x1b[2J\x1b[3J\x1b[H", b"\x1b[H\x1b[2J", b"\x1b[H\x1b[J", b"\x1b[H\x1b[0J\x1b[3J"],
    ids=["Claude Code", "xterm clear", "tmux clear", "tmux clear with scrollback"],
)
def test_an_erased_screen_is_kept_before_it_is_erased(raw: Path, erase: bytes) -> None:
    """`clear` clears the terminal, not the history."""
    assert _rendered(raw, b"before\r\nalso before" + erase + b"after") == [
        "before", "also before", "after",
    ]  # fmt: skip


def test_an_erase_cut_in_two_by_the_reading_is_still_seen(raw: Path) -> None:
    """Logs are read in pieces; a piece may end inside a sequence."""
    erase = b"\x1b[H\x1b[J"
    for inside in range(1, len(erase)):
        said = b"before"
        rest = CHUNK - len(said) - inside
        colours = b"\x1b[0m" * (rest // 4 - 1) + b"\x1b[00000m"[: 4 + rest % 4 - 1] + b"m"
        content = colours + said + erase + b"after"
        assert content.index(erase) == CHUNK - inside

        assert _rendered(raw, content) == ["before", "after"]


def test_lines_are_wrapped_as_wide_as_the_window_was(raw: Path) -> None:
    """Ten columns: a line of fifteen takes two rows."""
    assert _rendered(raw, b"a" * 15, (0, 10, 5)) == ["a" * 10, "a" * 5]


def test_a_resize_holds_from_its_place_in_the_log(raw: Path) -> None:
    """First ten columns wide, then twenty."""
    first = b"a" * 15 + b"\r\n"

    lines = _rendered(raw, first + b"b" * 20, (0, 10, 5), (len(first), 20, 5))

    assert lines[-1] == "b" * 20


def test_a_resize_far_into_a_long_log_is_not_forgotten(raw: Path) -> None:
    """Further than one piece of reading away."""
    first = b"x\r\n" * CHUNK + b"y\r\n"
    assert len(first) % CHUNK

    lines = _rendered(raw, first + b"b" * 20, (0, 10, 5), (len(first), 20, 5))

    assert lines[-1] == "b" * 20
    assert len(lines) == CHUNK + 2


def test_wide_characters_take_two_columns(raw: Path) -> None:
    """Five of them fill ten columns."""
    assert _rendered(raw, ("漢" * 6).encode(), (0, 10, 5)) == ["漢" * 5, "漢"]


def test_a_character_torn_by_a_resize_is_whole_again(raw: Path) -> None:
    """The window changed between two bytes of one letter."""
    content = "grün".encode()

    assert _rendered(raw, content, (0, 80, 24), (3, 90, 24)) == ["grün"]


def test_bytes_that_are_no_text_are_marked(raw: Path) -> None:
    """A log that ends inside a letter, or holds noise, is still shown."""
    assert _rendered(raw, b"a\xffb\r\nend \xe2\x82") == ["a\ufffdb", "end"]


def test_size_records_that_cannot_be_read_are_passed_over(raw: Path) -> None:
    """A torn line in the record does not hide the log."""
    raw.write_bytes(b"a" * 15)
    bad = ['{"offset": 0, "co', "[]", '{"offset": 0, "cols": 0, "rows": 5}', "7", "\x00"]
    good = '{"offset": 0, "cols": 10, "rows": 5}'
    (raw.parent / "sizes.jsonl").write_text("\n".join([*bad, good]))

    assert render(raw, raw.parent / "sizes.jsonl") == ["a" * 10, "a" * 5]


def test_the_last_lines_are_those_of_the_whole(raw: Path) -> None:
    shown = _rendered(raw, b"".join(b"line %d\r\n" % n for n in range(300)), (0, 20, 5))

    assert tail(raw, raw.parent / "sizes.jsonl", 50) == shown[-50:]
    assert tail(raw, raw.parent / "sizes.jsonl", 1000) == shown


@pytest.mark.parametrize(
    ("middle", "first"),
    [(b"\x1b[2J\x1b[Hnew\r\n", "new"), (b"of a line\r\nnext\r\n", "next")],
)
def test_of_a_large_log_only_the_last_part_is_looked_at(
    raw: Path, monkeypatch: pytest.MonkeyPatch, middle: bytes, first: str
) -> None:
    """From where a screen was begun, or else a line: no half sequence is shown."""
    end = b"the end\r\n"
    monkeypatch.setattr(rendering, "LAST_PART", len(middle + end) + 3)
    _rendered(raw, b"old\r\n" * 1000 + b"\x1b[31mred" + middle + end, (0, 20, 5))

    assert tail(raw, raw.parent / "sizes.jsonl", 50) == [first, "the end"]


def test_the_end_of_a_log_that_is_not_there_is_an_error(raw: Path) -> None:
    """Whoever asks for it says so, and takes another source."""
    with pytest.raises(FileNotFoundError):
        tail(raw, raw.parent / "sizes.jsonl", 50)


def test_garbage_in_place_of_the_sizes_does_no_harm(raw: Path) -> None:
    raw.write_bytes(b"words")
    (raw.parent / "sizes.jsonl").write_bytes(b"\xff\xfe\n[]\n" + bytes(range(256)))

    assert tail(raw, raw.parent / "sizes.jsonl", 5) == ["words"]
