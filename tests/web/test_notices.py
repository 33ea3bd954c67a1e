"""Notices over HTTP."""

from collections.abc import Iterator

import msgspec
import pytest

from sm.adapters.notify.book import NoticeBook
from sm.api.types import NoticeView
from sm.core.ids import NoticeId, SessionId
from sm.core.notices import PersonNotice
from tests.kit.sm import Sm, sm_home

ADA = SessionId("0123abcd")


@pytest.fixture
def told() -> Iterator[Sm]:
    """A home whose last daemon had two things to tell, one of them seen."""
    with sm_home() as sm:
        sm.home.make()
        book = NoticeBook(sm.home.notices)
        for number in (1, 2):
            id_ = NoticeId(f"n{number}")
            book.note(PersonNotice(id=id_, session=ADA, words=f"word {number}", at=number))
        book.see({"n1"})
        sm.run("daemon", "start")
        yield sm


def test_they_are_listed_seen_and_put_away(told: Sm) -> None:
    """By their ids: what comes meanwhile is not marked with them."""
    api = told.client()
    listed = api.get("/notices")
    assert listed == [
        {"id": "n1", "session": ADA, "name": ADA, "words": "word 1", "at": 1.0, "seen": True},
        {"id": "n2", "session": ADA, "name": ADA, "words": "word 2", "at": 2.0, "seen": False},
    ]
    assert msgspec.convert(listed, list[NoticeView]) == listed
    assert api.get("/notices", unseen="true") == listed[1:]

    assert api.call("POST", "/notices/seen", {"notices": ["n2", "unknown"]}) is None
    assert api.get("/notices", unseen="true") == []

    assert api.call("DELETE", "/notices") == {"cleared": 2}
    assert api.get("/notices") == []
