"""Texts that fit, and say what is missing."""

import re

from hypothesis import given
from hypothesis import strategies as st

from sm.core.shortening import (
    END,
    Item,
    brief,
    chosen,
    code,
    count,
    cut,
    ends,
    fenced,
    joined,
    listed,
    size,
)


def test_a_text_is_shortened_from_its_middle() -> None:
    text = "head " + "x" * 1000 + " tail"

    assert re.fullmatch(r"head x+\n… 9\d\d bytes left out …\nx+ tail", cut(text, 100))
    assert cut(text, 2000) == text


@given(st.text(max_size=300), st.integers(60, 200))
def test_a_shortened_text_fits(text: str, limit: int) -> None:
    assert size(cut(text, limit)) <= limit


def test_a_line_is_shortened_too() -> None:
    assert brief("a\n b", 10) == "a b"
    assert len(brief("word " * 50, 40)) == 40
    assert brief("0123456789" * 10, 30).endswith("3456789")


@given(st.text(max_size=300), st.sampled_from([1, 2 * END, 3 * END]))
def test_only_a_very_long_text_loses_its_middle(text: str, times: int) -> None:
    """And with it what a cut may have left of anything that stood there."""
    whole = (text * times)[: 4 * END]
    left = joined(ends(whole))

    assert left == whole or len(whole) > 2 * END
    assert len(left) <= 2 * END
    assert whole.startswith(left[: END // 2])
    assert whole.endswith(left[-END // 2 :])


@given(st.text(alphabet="`~\nx", max_size=60))
def test_no_fence_inside_ends_the_one_around(text: str) -> None:
    lines = fenced(text).split("\n")

    assert lines[0] == lines[-2]
    assert "\n".join(lines[1:-2]) == text
    assert all(lines[0] not in line for line in lines[1:-2])


def test_code_within_a_line_may_hold_ticks() -> None:
    assert code("a|b") == "`a|b`"
    assert code("echo `x`") == "`` echo `x` ``"


def test_numbers_agree_with_what_they_count() -> None:
    assert (count(1, "request"), count(2, "request")) == ("1 request", "2 requests")


ITEMS = [Item(text=f"- item {n}\n", weight=float(w)) for n, w in enumerate((5, 1, 4, 2, 3))]


def test_the_heaviest_are_kept_in_their_own_order() -> None:
    kept, missing = chosen(ITEMS, 40 + 3 * len("- item 0\n"))

    assert [item.text for item in kept] == ["- item 0\n", "- item 2\n", "- item 4\n"]
    assert missing == 2


def test_a_list_says_how_many_are_left_out() -> None:
    assert listed(ITEMS, 1000).count("\n") == 5
    assert listed(ITEMS, 44).endswith("- … 5 more left out …\n")
    assert size(listed(ITEMS, 44)) <= 44
