"""The user's own patterns: what may be one, and what a refusal says."""

import sys

import pytest

from sm.redaction.own import complaint, own_rules


@pytest.mark.parametrize("pattern", [r"BADGE-[0-9]{4}", r"(?i)room (\w+)", r"\(a\)", r"\\1x", "é+"])
def test_regular_expressions_are_fine(pattern: str) -> None:
    assert complaint("badge", pattern) is None


@pytest.mark.parametrize("name", ["", "Badge", "a b", "-a", "a-", "x" * 41, "a]b"])
def test_names_are_plain_words(name: str) -> None:
    """They stand in the placeholder."""
    assert complaint(name, "x") == (
        "named with 1 to 40 small letters, digits or '-', not at its ends"
    )


@pytest.mark.parametrize("pattern", [r"(?=a)b", r"(?!a)b", r"(?<=a)b", r"(?<!a)b", r"(a)\1",
                                     r"(?P<x>a)(?P=x)"])  # fmt: skip
def test_what_re2_cannot_do_is_refused(pattern: str) -> None:
    """Also where it is not installed: a pattern means the same everywhere."""
    words = "a regular expression without look-around and back-references"

    assert complaint("badge", pattern) == words


def test_a_broken_one_says_where() -> None:
    assert complaint("badge", "[a-") == (
        "a regular expression (unterminated character set at position 0)"
    )


def test_one_that_matches_nothing_at_all_is_refused() -> None:
    """It would be found between any two letters."""
    words = "a regular expression that does not match an empty text"

    assert complaint("badge", "x*") == words


def test_what_only_re2_refuses_is_refused() -> None:
    said = complaint("badge", "x{2000}")

    assert said is not None
    assert said.startswith("a regular expression (")


def test_without_re2_the_rest_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)

    assert complaint("badge", "x{2000}") is None
    assert complaint("badge", "[a-") is not None


def test_each_becomes_a_rule() -> None:
    (rule,) = own_rules({"badge": "B[0-9]+"})

    assert (rule.kind, rule.pattern, rule.literals) == ("badge", "B[0-9]+", ())
