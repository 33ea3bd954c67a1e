"""Secrets are taken out of whole texts, whatever is cut of them afterwards."""

import pytest

from sm.core.shortening import END, ends
from sm.engine.cleaning import Change, in_brief, without_secrets

TEXTS = ("the password is hunter2", "nothing", "the password is hunter2", "")


class Mapped:
    def __init__(self, texts: tuple[str, ...]) -> None:
        self.texts = texts

    def __call__(self, change: Change) -> tuple[str, ...]:
        return tuple(change(text) for text in self.texts)


def hide(text: str) -> str:
    return text.replace("hunter2", "[redacted:password]")


def test_each_text_stays_in_its_place() -> None:
    clean = without_secrets(Mapped(TEXTS), hide)

    assert clean == tuple(hide(text) for text in TEXTS)


def test_a_secret_in_two_texts_takes_no_other_with_it() -> None:
    """The border between texts may be taken for a part of it."""

    def greedy(text: str) -> str:
        return "x" if text.startswith("BEGIN") and "END" in text else text

    assert without_secrets(Mapped(("BEGIN", "END", "more")), greedy) == ("BEGIN", "END", "more")


def test_nothing_is_clean() -> None:
    assert without_secrets(Mapped(()), hide) == ()


@pytest.mark.parametrize("before", range(20, 45))
def test_a_line_is_shortened_when_nothing_secret_is_left_in_it(before: int) -> None:
    line = in_brief(f"{'a' * before} hunter2 {'b' * 50}", 40, hide)

    assert "hunt" not in line
    assert len(line) == 40


@pytest.mark.parametrize("place", [END - 3, END])
def test_what_a_wide_cut_left_of_a_secret_is_gone(place: int) -> None:
    """Half of it is not recognised, and stands beside the joint."""
    text = "a" * (place - 7) + " hunter2 " + "b" * 3 * END

    (clean,) = without_secrets(Mapped((ends(text),)), hide)

    assert "hunt" not in clean
    assert "ter2" not in clean
    assert clean.startswith("aaa")
    assert clean.endswith("bbb")
