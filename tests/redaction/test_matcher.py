"""Which rules are asked, and what they find, with RE2 and without."""

import sys

import pytest

from sm.redaction.matcher import LazyMatcher, Matcher, PlainMatcher, Re2Matcher, matcher
from sm.redaction.rule import Rule, token

BADGE = token("badge", "B-[0-9]{4}", "b-")
ROOM = Rule(kind="room", pattern=r"room ([0-9]+)(?: or ([0-9]+))?", literals=(b"room",))
BARE = Rule(kind="bare", pattern="x[0-9]y")
OWN = Rule(kind="own", pattern="seat ([0-9]+)([a-f]?)", sign="seat", is_own=True)
RULES = (BADGE, ROOM, BARE, OWN)


@pytest.fixture(params=["re2", "plain"])
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Matcher:
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "re2", None)
    return matcher(RULES)


def test_re2_is_taken_where_it_is_installed() -> None:
    assert isinstance(matcher(RULES), Re2Matcher)


def test_without_it_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)

    assert isinstance(matcher(RULES), PlainMatcher)


def test_rules_too_large_for_re2_are_done_by_python() -> None:
    """Slower is better than not at all."""
    pattern = "(?:a{1000}b{1000}){900}"
    large = Rule(kind="large", pattern=pattern, sign=pattern, is_own=True)

    assert isinstance(matcher([large]), PlainMatcher)


def test_nothing_is_made_for_blocks_without_any_literal() -> None:
    """Of most of what is shown it is known at once that there is nothing in it."""
    lazy = LazyMatcher([BADGE, ROOM])

    assert list(lazy.candidates(b"nothing")) == []
    assert lazy._made is None
    assert set(lazy.candidates(b"room 5")) == {1}
    assert isinstance(lazy._made, Re2Matcher)


@pytest.mark.parametrize(("text", "asked"), [(b"ASKED", True), (b"asked", False), (b"x-1", True)])
def test_a_literal_in_capitals_is_sought_as_it_stands(text: bytes, *, asked: bool) -> None:
    """Others in any case: patterns may have either."""
    rules = [token("key", "SK[0-9]{4}", "SK"), token("badge", "X-[0-9]", "x-")]

    assert any(True for _ in PlainMatcher(rules).candidates(text)) is asked


def test_with_a_rule_that_has_no_literals_every_block_is_asked() -> None:
    """The user's own have none."""
    assert set(LazyMatcher(RULES).candidates(b"x1y seat 5")) == {2, 3}


def test_every_rule_that_could_find_something_is_asked(made: Matcher) -> None:
    """A rule without literals always is, where only literals are known."""
    assert {0, 1} <= set(made.candidates(b"B-1234 in room 5, x1y"))
    assert 0 not in set(made.candidates(b"room 5"))
    assert 2 in set(made.candidates(b"x1y"))


def test_groups_are_the_secret_and_else_everything_is(made: Matcher) -> None:
    assert list(made.finds(1, b"room 12 or 13, room 5", 0, 21)) == [
        ((0, 13), [(5, 7), (11, 13)]),
        ((15, 21), [(20, 21)]),
    ]
    assert list(made.finds(2, b"--x1y", 0, 5)) == [((2, 5), [(2, 5)])]


def test_groups_of_the_users_own_patterns_are_told_alike(made: Matcher) -> None:
    assert list(made.finds(3, b"seat 12a", 0, 8)) == [((0, 8), [(5, 7), (7, 8)])]


def test_only_a_part_of_the_text_is_searched(made: Matcher) -> None:
    text = b"x1y x2y x3y"

    assert [whole for whole, _ in made.finds(2, text, 4, 8)] == [(4, 7)]


def test_bytes_that_are_no_text_are_matched_as_bytes(made: Matcher) -> None:
    assert [whole for whole, _ in made.finds(2, b"\xff\xfex1y\xff", 0, 6)] == [(2, 5)]
