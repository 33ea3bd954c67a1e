"""How wide text is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.adapters.agents.demo.cells import plain, width, wrap


@pytest.mark.parametrize(
    ("text", "cells"), [("abc", 3), ("äö", 2), ("漢字", 4), ("😀", 2), ("e\u0301", 1), ("❯─", 2)]
)
def test_a_text_takes_the_columns_a_terminal_gives_it(text: str, cells: int) -> None:
    assert width(text) == cells


@given(st.text("ab 漢😀\n"), st.integers(2, 20))
def test_wrapping_loses_nothing_and_fits(text: str, columns: int) -> None:
    lines = wrap(text, columns)

    assert "".join(lines) == text.replace("\n", "")
    assert all(width(line) <= columns for line in lines)


def test_plain_text_cannot_move_the_cursor() -> None:
    assert plain("a\x1b[2J\tb\r\nc\x07") == "a[2J   b\nc"
