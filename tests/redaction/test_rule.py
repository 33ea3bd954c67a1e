"""The pieces of patterns: where a token may begin, and what parts a name from its value."""

import re

import pytest

from sm.redaction.redactor import RULES
from sm.redaction.rule import FENCE, Rule, loose, named, token

TOKEN = token("badge", "B-[0-9]{4}", "B-")
NAMED = named("badge", "badge_number", "[0-9]{4}", "badge")


def found(rule: Rule, text: str) -> str | None:
    match = re.search(rule.pattern, text)
    return match.group(1) if match else None


@pytest.mark.parametrize(
    "before",
    ["", " ", "=", '"', "\n", r"\n", r"\t", r"\\n", r"\u0022", r"\u0027", "%3D", "-", "+"],
)  # fmt: skip
def test_a_token_is_seen_behind(before: str) -> None:
    r"""In JSON it follows a literal ``\n``: the letter before it is no part of a word."""
    assert found(TOKEN, f"{before}B-1234") == "B-1234"


@pytest.mark.parametrize("before", ["A", "7", "_", "AB"])
def test_the_middle_of_a_word_is_no_token(before: str) -> None:
    assert found(TOKEN, f"{before}B-1234") is None


@pytest.mark.parametrize(
    "between",
    ["=", ": ", " = ", "='", '": "', r"\": \"", r"\\\": \\\"", r"\u0022: \u0022", " => ", "'] = '",
     " ", "&quot;:&quot;", ",", ":=", "\n    value: ", r"\n  value: ", '","value":"',
     '" value="', r"\",\"value\": \""],
)  # fmt: skip
def test_a_name_and_its_value(between: str) -> None:
    """However a file, a program or a record writes it."""
    assert found(NAMED, f"badge_number{between}1234") == "1234"


def test_literals_in_capitals_belong_to_patterns_that_mind_them() -> None:
    """Where either case is a secret, those in lower case find both."""
    capital = [rule for rule in RULES if any(one != one.lower() for one in rule.literals)]

    assert [rule.kind for rule in capital if "(?i" in rule.pattern] == []
    assert capital != []


def test_no_token_is_known_by_a_words_beginning() -> None:
    r"""``\b`` before a token misses it behind a literal ``\n``."""
    begins = re.compile(r"(\(\?[im]+\))?\(*(\?:)?\\b")

    assert [rule.kind for rule in RULES if begins.match(rule.pattern)] == []


@pytest.mark.parametrize(
    ("pattern", "loosened"),
    [
        ("a[0-9]{32}", "a[0-9]{2,}"),
        ("a{2}b{1}", "a{2}b{1}"),
        ("a{0,160}?b{1,3}", "a{0,}?b{1,}"),
        (rf"(?m){FENCE}(sk-x{{8,}})\b", "(?m)(sk-x{2,})"),
    ],
)
def test_what_is_sought_first_does_not_count(pattern: str, loosened: str) -> None:
    """So one automaton for all rules stays small; whatever the pattern finds, it finds."""
    assert loose(pattern) == loosened
