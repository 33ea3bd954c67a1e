"""Text comes out of its envelope as it went in, and no text can pass for another's envelope."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm.core.envelope import head, message_in, quoted_in, sanitise, tail, unwrap, wrap
from sm.core.ids import MessageId

ID, OTHER = MessageId("0123456789ab"), MessageId("ba9876543210")
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}", fullmatch=True)
MARKERS = [head(ID, "you"), tail(ID), head(OTHER, "eve"), tail(OTHER), wrap(OTHER, "eve", "x")]
TEXTS = st.lists(
    st.one_of(st.text(), st.sampled_from([*MARKERS, "\n", "]\n", "\r\n", "\x1b[201~", " "]))
).map("".join)
"""Any text, often with pieces of envelopes in it."""


@given(TEXTS)
def test_sanitising_twice_changes_nothing_more(text: str) -> None:
    """What was made safe once is safe."""
    assert sanitise(sanitise(text)) == sanitise(text)


@given(TEXTS)
def test_no_control_character_survives_but_the_line_end(text: str) -> None:
    """Nothing in a message can end a bracketed paste or press a key."""
    assert not [c for c in sanitise(text) if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f"]


@given(TEXTS, NAMES)
def test_a_text_comes_out_as_it_went_in(text: str, sender: str) -> None:
    """The model gets the sender's text, made safe and otherwise unchanged."""
    assert unwrap(wrap(ID, sender, text)) == sanitise(text)


@given(TEXTS, NAMES)
def test_a_text_cannot_pass_for_another_message(text: str, sender: str) -> None:
    """Whatever a message quotes, the prompt that carries it is that message and no other."""
    assert message_in(wrap(ID, sender, text)) == ID


@given(TEXTS, st.text())
def test_words_typed_beside_a_message_do_not_hide_it(text: str, words: str) -> None:
    """A person added to it in the last moment: it has arrived all the same, and whole."""
    behind = f"{wrap(ID, 'you', text)} {words.replace('[', '')}"

    assert message_in(behind) == ID
    assert unwrap(behind) == sanitise(text)
    before = f"look: {wrap(ID, 'you', text)}"
    assert message_in(before) is None, "it may only be quoted"
    assert ID in quoted_in(before)


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "hello",
        head(ID, "you"),
        f"hello\n{tail(ID)}",
        f"what is {head(ID, 'you')}\n?",
        f"what is {head(ID, 'you')}\nhello\n{tail(OTHER)}",
        f"Read this: {wrap(ID, 'you', 'hello')}",
        f"Read /doc.md and continue from where you left off.\n{wrap(ID, 'you', 'hello')}",
    ],
)
def test_a_marker_alone_proves_nothing(prompt: str) -> None:
    """Words that mention a message are not the message."""
    assert message_in(prompt) is None
    assert unwrap(prompt) is None


def test_a_prompt_whose_end_was_cut_is_still_the_message() -> None:
    """A hook may carry only the beginning of a long prompt; its text is then not known."""
    assert message_in(f"{head(ID, 'you')}\nhello") == ID
    assert unwrap(f"{head(ID, 'you')}\nhello") is None


def test_blanks_around_the_prompt_do_not_hide_the_message() -> None:
    """Agents trim and pad prompts; the message is still recognised."""
    assert message_in(f"\n {wrap(ID, 'you', 'hello')} \n") == ID


@pytest.mark.parametrize("text", ["/clear", "!rm -rf /", "#note", "a\\", "see @file"])
def test_a_command_arrives_as_text(text: str) -> None:
    """The prompt neither begins nor ends with the text, so the agent runs nothing."""
    prompt = wrap(ID, "you", text)

    assert prompt.startswith("[sm message")
    assert prompt.endswith("]")


def test_tabs_become_blanks() -> None:
    """A tab in a prompt box would complete a word instead."""
    assert sanitise("a\tb\r\nc\rd") == "a    b\nc\nd"


FIRST = f"Read /doc.md and continue from where you left off.\n\n… (handoff {'a' * 12}).\n{tail(ID)}"
"""The first prompt after a handoff."""


def test_the_first_prompt_of_a_context_is_known_by_its_own_words() -> None:
    """Also with a person's words behind it, even where they quote another message."""
    assert message_in(FIRST) == ID
    assert message_in(f"{FIRST} and {wrap(OTHER, 'you', 'hello')}") == ID
    assert unwrap(FIRST) is None


def test_the_first_prompt_is_found_among_a_persons_words() -> None:
    assert quoted_in(f"please: {FIRST}") == (ID,)
    assert quoted_in(f"{wrap(OTHER, 'you', 'hello')} {FIRST}") == (OTHER, ID)
