"""Names people give to sessions, and what they may type to mean one."""

from dataclasses import replace

import pytest

from sm.core.ids import SessionId
from sm.core.state import Session, State
from sm.engine.naming import NameRefusedError, NotFoundError, check_name, find, free_name
from tests.core.samples import IDLE


def named(name: str, session_id: str, state: State = State.IDLE) -> Session:
    return replace(IDLE, name=name, id=SessionId(session_id), state=state)


ADA = named("ada", "abcd0001")
BOB = named("bob", "abcd0002")
OLD_ADA = named("ada", "00ff0003", State.ENDED)
EVE = named("eve", "00ff0004", State.CRASHED)


@pytest.mark.parametrize("name", ["a", "ada-2", "Ada_B", "7up", "x" * 40, "abcdefg", "0123456"])
def test_a_plain_word_is_a_name(name: str) -> None:
    """Letters, digits, dash and underscore."""
    assert check_name(name, [ADA]) == name


@pytest.mark.parametrize("name", ["", "-a", "_a", "a b", "a/b", "a.b", "a:b", "ä", "x" * 41, "a\n"])
def test_what_tmux_or_a_shell_could_read_otherwise_is_no_name(name: str) -> None:
    """And the refusal says what is allowed."""
    with pytest.raises(NameRefusedError, match="is not a usable name: 1 to 40 letters"):
        check_name(name, [])


def test_a_name_that_looks_like_an_id_is_refused() -> None:
    """It could mean two sessions."""
    with pytest.raises(NameRefusedError, match="looks like a session id"):
        check_name("deadbeef", [])


def test_a_name_is_taken_while_its_session_has_not_ended() -> None:
    """A crashed session still has its name; an ended one has given it up."""
    with pytest.raises(NameRefusedError, match="eve is taken"):
        check_name("eve", [EVE])
    assert check_name("ada", [OLD_ADA]) == "ada"


def test_a_name_that_is_taken_elsewhere_is_taken() -> None:
    """By a run, which has an engine of its own."""
    with pytest.raises(NameRefusedError, match="ws is taken"):
        check_name("ws", [], {"ws"})
    assert free_name("claude", [], {"claude-1"}) == "claude-2"


def test_a_free_name_has_the_lowest_free_number() -> None:
    """Numbers of ended sessions are used again."""
    known = [named("claude-1", "1"), named("claude-2", "2", State.ENDED), named("claude-3", "3")]

    assert free_name("claude", []) == "claude-1"
    assert free_name("claude", known) == "claude-2"


@pytest.mark.parametrize(
    ("stem", "name"),
    [("my agent --fast", "my-agent---fast-1"), ("./x", "x-1"), ("///", "session-1")],
)
def test_a_free_name_is_always_a_name(stem: str, name: str) -> None:
    """Whatever the agent's command is called."""
    assert free_name(stem, []) == name
    assert check_name(name, []) == name


def test_a_session_is_found_by_id_name_or_unique_prefix() -> None:
    """The exact id first, then the name, then the beginning of an id."""
    known = [ADA, BOB, EVE]

    assert find("abcd0001", known) is ADA
    assert find("bob", known) is BOB
    assert find("00ff", known) is EVE


def test_a_name_goes_before_a_prefix() -> None:
    """``abc`` names a session, though another's id begins with it."""
    abc = named("abc", "77770001")

    assert find("abc", [ADA, abc]) is abc


def test_an_ambiguous_prefix_is_refused_with_all_it_fits() -> None:
    """Nobody guesses which one was meant."""
    with pytest.raises(NotFoundError) as refusal:
        find("abcd", [ADA, BOB])

    assert str(refusal.value) == ("'abcd' fits several sessions: abcd0001 (ada), abcd0002 (bob).")


def test_the_living_come_before_the_ended() -> None:
    """The old ada is found by her id; her name now means the new one."""
    assert find("ada", [ADA, OLD_ADA]) is ADA
    assert find("00ff", [EVE, OLD_ADA]) is EVE, "a prefix of one living and one ended session"
    assert find("00ff0003", [ADA, OLD_ADA]) is OLD_ADA


def test_of_ended_namesakes_the_latest_is_meant() -> None:
    """Three sessions were called ada, one after another."""
    latest = named("ada", "00ff0009", State.ENDED)

    assert find("ada", [OLD_ADA, latest]) is latest


@pytest.mark.parametrize("reference", ["", "nobody", "bcd", "ABCD", "00f"])
def test_what_fits_nobody_is_not_found(reference: str) -> None:
    """And the way to see who is there is named."""
    with pytest.raises(NotFoundError, match="See: sm ls --all"):
        find(reference, [ADA, BOB])


def test_too_short_a_beginning_of_an_id_is_told_so() -> None:
    """Nobody looks for a typing error then."""
    with pytest.raises(NotFoundError) as refused:
        find("abc", [ADA])
    assert str(refused.value) == (
        "There is no session 'abc'; the beginning of an id needs 4 digits at least."
        " See: sm ls --all"
    )
    with pytest.raises(NotFoundError, match=r"There is no session 'eva'\. See"):
        find("eva", [ADA])
