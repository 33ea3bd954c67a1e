"""The channels of one home: found once, kept in one ledger, opened when first needed."""

from pathlib import Path

import pytest

from sm.adapters.channels.book import ChannelBook
from sm.adapters.channels.errors import LedgerError
from sm.core.channel import ChannelError, Refusal, Status, Why
from tests.adapters.channels.samples import ADA, BOB, HOUR, NOON, claimant, left


def test_a_folder_keeps_its_name(folder: Path, work: Path) -> None:
    """Also from one process to the next."""
    (work / "api").mkdir()
    first = ChannelBook(folder, {}).of(str(work / "api"))

    assert (first.name, first.root, first.why) == ("api", str(work / "api"), Why.FOLDER)
    assert ChannelBook(folder, {}).of(str(work / "api")) == first


def test_a_registered_folder_has_its_name(folder: Path, work: Path) -> None:
    book = ChannelBook(folder, {str(work): "shop"})

    assert book.of(str(work)).name == "shop"
    assert not folder.exists()


def test_a_name_that_was_asked_for_holds_everywhere(folder: Path, work: Path) -> None:
    assert ChannelBook(folder, {}, "night").of(str(work)).name == "night"
    with pytest.raises(ChannelError, match=r"'\.\./\.\./x' cannot be a channel's name"):
        ChannelBook(folder, {}, "../../x")


def test_a_handoff_goes_through_its_life(folder: Path, work: Path) -> None:
    book = ChannelBook(folder, {})
    made = left(work)
    book.create(made)

    given = book.claim(made.id, claimant(), now=NOON, expiry=HOUR)
    assert not isinstance(given, Refusal)
    assert given.status is Status.CLAIMED
    assert isinstance(book.claim_from("api", claimant(BOB), now=NOON, expiry=HOUR), Refusal)
    book.consume(made.id, ADA, NOON + 1)
    found = book.get(made.id)
    assert found is not None
    assert found.status is Status.CONSUMED
    assert book.history(channel="api") == [found]
    assert book.clear(channel="api", at=NOON) == []
    assert book.expire(NOON + 9 * HOUR, HOUR) == []
    assert book.release_stale(lambda *_: False, lambda *_: False, now=NOON) == []
    book.close()


def test_a_ledger_that_cannot_be_used_is_told_when_it_is_asked(work: Path) -> None:
    """And not before: nothing else depends on it."""
    (work / "file").write_text("no folder\n")
    book = ChannelBook(work / "file" / "channels", {})
    book.close()

    with pytest.raises(LedgerError):
        book.of(str(work))
