"""The prompt box, as text and as drawn."""

import pytest

from sm.adapters.agents.demo.box import Box


def test_a_folded_paste_is_opened_when_submitted() -> None:
    box = Box()
    box.type("see ")
    box.paste("a\nb\nc\nd")
    box.type(" and ")
    box.paste("y" * 801)

    assert box.shown == "see [Pasted text #1 +3 lines] and [Pasted text #2]"
    assert box.text == "see a\nb\nc\nd and " + "y" * 801


@pytest.mark.parametrize("text", ["", "one", "a\nb\nc", "z" * 800])
def test_a_short_paste_stands_as_it_is(text: str) -> None:
    box = Box()
    box.paste(text)

    assert box.shown == box.text == text


def test_a_paste_that_looks_like_a_fold_is_not_opened_twice() -> None:
    box = Box()
    box.paste("a\nb\nc\n[Pasted text #1 +3 lines]")

    assert box.text == "a\nb\nc\n[Pasted text #1 +3 lines]"


def test_backspace_takes_a_character_or_a_whole_fold() -> None:
    box = Box()
    box.paste("a\nb\nc\nd")
    box.type("x")
    box.backspace()
    assert box.shown == "[Pasted text #1 +3 lines]"

    box.backspace()
    assert not box


def test_a_trailing_backslash_continues_the_line() -> None:
    box = Box()
    box.type("a\\")

    assert box.continue_line()
    assert box.shown == "a\n"
    assert not box.continue_line()


def test_a_copy_keeps_what_is_folded() -> None:
    box = Box()
    box.paste("a\nb\nc\nd")
    kept = box.copy()
    box.clear()

    assert kept.text == "a\nb\nc\nd"
    assert box.text == ""


def test_it_is_drawn_as_claude_code_draws_it() -> None:
    """The mark and a no-break space; what wraps is indented by two."""
    box = Box()
    box.type("abcdefghij")

    assert box.draw(9, 5) == (["❯\xa0abcdef", "  ghij"], 6)
    assert Box().draw(9, 5) == (["❯\xa0"], 2)


def test_a_text_higher_than_the_screen_shows_its_end() -> None:
    box = Box()
    box.type("a\nb\nc")

    assert box.draw(20, 2) == (["❯\xa0b", "  c"], 3)
