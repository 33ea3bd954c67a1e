"""Sentences that state a decision."""

import pytest

from sm.core.decisions import LONGEST, stated, sureness


@pytest.mark.parametrize(
    "sentence",
    [
        "I decided to keep the table.",
        "Decision: it stays private, because callers rely on it.",
        "We'll go with SQLite instead of files.",
        "The root cause is a race in `close()`.",
        "I ruled out polling.",
        "After weighing both, the lock wins over the queue: fewer writes.",
        "My plan: 1) freeze orders, 2) backfill totals, 3) drop the column.",
        "We'll keep the tax rules out of this change.",
        "Let's settle on the ledger as the source of truth.",
        "The right approach is to compute it once.",
        "I'll use the lock, because orders hold one already.",
        "Leaving the schema alone.",
        "This has to be idempotent, so I added a key.",
        "I considered Redis but it adds a dependency.",
        "Strategy: retry three times, then give up.",
        "Not touching the billing module in this PR.",
        "We can't use threads here.",
        "Ich nehme die Sperre statt der Tabelle, weil sie schon da ist.",
        "Usamos Postgres en lugar de Redis.",
    ],
)
def test_a_decision_is_found_among_other_words(sentence: str) -> None:
    text = f"Let me look. {sentence} Next I'll run the tests."

    assert list(stated(text)) == [sentence]


def test_items_of_a_list_are_sentences() -> None:
    assert list(stated("So:\n- chose tabs over spaces\n- ran the tests\n")) == [
        "chose tabs over spaces"
    ]


def test_a_list_belongs_to_the_plan_that_announces_it() -> None:
    text = "My plan:\n\n1. Freeze orders.\n2. Drop it.\n\nThen I'll report."

    assert list(stated(text)) == ["My plan: 1. Freeze orders. 2. Drop it."]


def test_words_of_deciding_are_surer_than_what_goes_with_it() -> None:
    assert sureness("We decided on tabs.") == 2
    assert sureness("It stays as it is for now.") == 1
    assert sureness("It has to be idempotent.") == 0


@pytest.mark.parametrize(
    "text",
    [
        "Let me look at the next file.",
        "Now I'll use grep to find its callers.",
        "Next, I will run the tests.",
        "Let me read it, because it should be there.",
        "I have not decided yet.",
        "Have you decided?",
        "```\n# we decided to wait\n```",
        f"We decided {'on and on ' * LONGEST}.",
    ],
)
def test_talk_questions_and_code_are_no_decisions(text: str) -> None:
    assert list(stated(text)) == []
