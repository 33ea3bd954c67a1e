"""Sentences that state a decision."""

import pytest

from sm.core.decisions import LONGEST, stated


@pytest.mark.parametrize(
    "sentence",
    [
        "I decided to keep the table.",
        "Decision: it stays private, because callers rely on it.",
        "We'll go with SQLite instead of files.",
        "The root cause is a race in `close()`.",
        "I ruled out polling.",
    ],
)
def test_a_decision_is_found_among_other_words(sentence: str) -> None:
    text = f"Let me look. {sentence} Next I'll run the tests."

    assert list(stated(text)) == [sentence]


def test_items_of_a_list_are_sentences() -> None:
    assert list(stated("So:\n- chose tabs over spaces\n- ran the tests\n")) == [
        "chose tabs over spaces"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Let me look at the next file.",
        "I have not decided yet.",
        "Have you decided?",
        "```\n# we decided to wait\n```",
        f"We decided {'on and on ' * LONGEST}.",
    ],
)
def test_talk_questions_and_code_are_no_decisions(text: str) -> None:
    assert list(stated(text)) == []
