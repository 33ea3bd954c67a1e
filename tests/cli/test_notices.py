"""sm notices"""

from collections.abc import Iterator

import pytest

from sm.adapters.notify.book import NoticeBook
from sm.core.ids import NoticeId, SessionId
from sm.core.notices import PersonNotice
from tests.cli.test_install import at_a_terminal
from tests.kit.sm import Sm, sm_home

WORDS = "ada crashed 5 times in 15 minutes and is not brought back any more: sm explain ada"


@pytest.fixture
def own() -> Iterator[Sm]:
    with sm_home() as made:
        yield made


def tell(sm: Sm, words: str = WORDS) -> None:
    """As a daemon before this one did."""
    sm.home.make()
    NoticeBook(sm.home.notices).note(
        PersonNotice(id=NoticeId(words), session=SessionId("0123abcd"), words=words, at=0.0)
    )


def test_notices_are_listed_until_they_are_cleared(own: Sm) -> None:
    """Whoever saw them."""
    tell(own)

    for _ in range(2):
        head, line = own.run("notices").splitlines()
        assert head.split() == ["AGO", "SESSION", "NOTICE"]
        assert line.endswith(f"d  0123abcd  {WORDS}")
    assert own.run("notices", "--clear") == "1 put away.\n"
    assert own.run("notices") == "Nothing to tell.\n"


def test_json_has_the_keys_of_the_contract(own: Sm) -> None:
    tell(own)

    [notice] = own.json("notices")
    assert list(notice) == ["id", "session", "name", "words", "at", "seen"]
    assert (notice["words"], notice["seen"]) == (WORDS, False)
    assert own.json("notices", "--clear") == {"cleared": 1}


def test_on_a_terminal_they_count_as_seen(own: Sm) -> None:
    """A script that lists them has not shown them to anybody."""
    tell(own)
    own.run("notices")
    assert [n["seen"] for n in own.json("notices")] == [False]

    status, shown = at_a_terminal(own, "notices", answer=b"")

    assert (status, shown.count(WORDS)) == (0, 1)
    assert [n["seen"] for n in own.json("notices")] == [True]
