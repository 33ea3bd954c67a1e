"""The ledger of handoffs: what is left, given and taken in."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from sm.adapters.channels.ledger import Ledger
from sm.core.channel import (
    ChannelError,
    ChannelHandoff,
    Claimant,
    Kind,
    NewHandoff,
    Place,
    Refusal,
    Status,
    Why,
)
from sm.core.ids import HandoffId, SessionId
from sm.core.passage import DocumentError
from tests.adapters.channels.samples import ADA, BOB, HOUR, NOON, claimant, left


def _claim(ledger: Ledger, made: NewHandoff, who: Claimant, now: float = NOON) -> ChannelHandoff:
    given = ledger.claim(made.id, who, now=now, expiry=HOUR)
    assert isinstance(given, ChannelHandoff)
    return given


def _refused(answer: ChannelHandoff | Refusal) -> str:
    assert isinstance(answer, Refusal)
    return answer.words


def _statuses(ledger: Ledger) -> list[str]:
    return [handoff.status.value for handoff in ledger.history()]


def test_what_is_left_is_found_by_another_process(ledger: Ledger, folder: Path, work: Path) -> None:
    """With everything its author knew, and the document's checksum."""
    new = replace(left(work), kind=Kind.AUTO, meant_for=BOB)
    made = ledger.create(new)
    other = Ledger(folder)

    assert made.status is Status.ACTIVE
    assert len(made.sha256) == 64
    assert other.get(made.id) == other.current("api") == made
    assert other.history() == other.history(channel="api") == other.history(session=ADA) == [made]
    assert other.history(channel="web") == other.history(session=BOB) == []
    assert (other.get(HandoffId("HO-1")), other.current("web")) == (None, None)
    other.close()


def test_the_same_again_is_the_same_handoff(ledger: Ledger, work: Path) -> None:
    """A process that died after leaving it leaves it once more, also when it was claimed since."""
    new = left(work)
    made = ledger.create(new)
    assert ledger.create(new) == made

    given = _claim(ledger, new, claimant())
    assert ledger.create(new) == given
    assert len(ledger.history()) == 1


def test_a_name_belongs_to_one_handoff(ledger: Ledger, work: Path) -> None:
    """Two sessions whose ids begin alike cannot both have it in the same second."""
    new = left(work)
    ledger.create(new)

    with pytest.raises(ChannelError, match="is already another handoff, of session 0a1b2c3d in"):
        ledger.create(replace(new, session=BOB))


def test_a_newer_one_takes_the_place_of_what_nobody_claimed(ledger: Ledger, work: Path) -> None:
    """What was claimed stays its claimant's; other channels are left alone."""
    first, second, third = (left(work, NOON + n) for n in range(3))
    elsewhere = left(work, NOON + 9, channel="web")
    ledger.create(elsewhere)
    ledger.create(first)
    _claim(ledger, first, claimant())
    ledger.create(second)
    ledger.create(third)

    assert [(h.id, h.status.value) for h in ledger.history()] == [
        (elsewhere.id, "active"),
        (first.id, "claimed"),
        (second.id, "superseded"),
        (third.id, "active"),
    ]
    assert ledger.history(limit=1)[0].id == third.id
    superseded = ledger.get(second.id)
    assert superseded is not None
    assert superseded.ended_at == third.created_at


@pytest.mark.parametrize("name", ["../../x", "a/b", "", "a" * 65])
def test_a_name_that_leaves_the_folder_is_refused(ledger: Ledger, work: Path, name: str) -> None:
    with pytest.raises(ChannelError, match="cannot be a channel's name"):
        ledger.create(left(work, channel=name))
    with pytest.raises(ChannelError, match="cannot be a handoff's name"):
        ledger.create(replace(left(work), id=HandoffId(f"HO-{name}")))
    assert ledger.history() == []


def test_a_document_that_is_not_this_handoffs_is_not_left(ledger: Ledger, work: Path) -> None:
    """It could never be claimed, and would push out one that can."""
    good = left(work)
    ledger.create(good)
    bad = left(work, NOON + 1)
    Path(bad.document).write_text("# no name\n")

    with pytest.raises(DocumentError, match="does not say which handoff it is"):
        ledger.create(bad)
    Path(bad.document).unlink()
    with pytest.raises(DocumentError, match="There is no file"):
        ledger.create(bad)

    assert _statuses(ledger) == ["active"]


def test_a_claim_is_given_once(ledger: Ledger, work: Path) -> None:
    """To the same session and context again, with the process that asks now; to no other."""
    made = ledger.create(left(work))
    given = _claim(ledger, made, claimant(transcript="/t"))

    assert given == made.given(claimant(transcript="/t"), NOON)
    assert _claim(ledger, made, claimant(transcript="/t"), NOON + 5) == given
    again = _claim(ledger, made, claimant(pid=8, started=80), NOON + 5)
    assert again == replace(given, claimed_pid=8, claimed_started=80)
    assert ledger.get(made.id) == again
    assert _refused(ledger.claim(made.id, claimant(BOB), now=NOON, expiry=HOUR)) == (
        f"{made.id} is claimed by {ADA}: it cannot be claimed."
    )
    unknown = ledger.claim(HandoffId("HO-1"), claimant(), now=NOON, expiry=HOUR)
    assert _refused(unknown) == "There is no handoff HO-1."


def test_an_unrelated_session_must_ask_explicitly(ledger: Ledger, work: Path) -> None:
    """What waits in a channel is its own successor's."""
    made = ledger.create(left(work))

    refused = ledger.claim_from("api", claimant(BOB), now=NOON, expiry=HOUR)
    assert _refused(refused) == (
        f"{made.id} in the channel api is meant for another session. "
        "To take it all the same, ask for it explicitly."
    )
    given = ledger.claim_from("api", claimant(BOB), now=NOON, expiry=HOUR, explicitly=True)
    assert isinstance(given, ChannelHandoff)
    assert (given.id, given.claimed_by) == (made.id, BOB)


def test_its_own_successor_is_given_what_waits_in_the_channel(ledger: Ledger, work: Path) -> None:
    """And is given it again; where nothing waits, that is said."""
    empty = ledger.claim_from("api", claimant(), now=NOON, expiry=HOUR)
    made = ledger.create(left(work))
    given = ledger.claim_from("api", claimant(), now=NOON, expiry=HOUR)
    again = ledger.claim_from("api", claimant(), now=NOON, expiry=HOUR)

    assert _refused(empty) == "Nothing waits in the channel api."
    assert isinstance(given, ChannelHandoff)
    assert (given.id, again) == (made.id, given)
    other = ledger.claim_from("api", claimant(BOB), now=NOON, expiry=HOUR, explicitly=True)
    assert _refused(other) == "Nothing waits in the channel api."


def test_what_was_left_too_long_ago_is_not_given(ledger: Ledger, work: Path) -> None:
    made = ledger.create(left(work))

    late = ledger.claim(made.id, claimant(), now=NOON + HOUR + 1, expiry=HOUR)
    again = ledger.claim(made.id, claimant(), now=NOON, expiry=HOUR)

    assert _refused(late) == f"{made.id} was left too long ago: it is expired."
    assert _refused(again) == f"{made.id} is expired: it cannot be claimed."


def test_only_what_waits_too_long_expires(ledger: Ledger, work: Path) -> None:
    """What somebody has claimed is in good hands."""
    claimed = ledger.create(left(work, NOON - 9, channel="claimed"))
    _claim(ledger, claimed, claimant())
    ledger.create(left(work, NOON, channel="old"))
    ledger.create(left(work, NOON + 2, channel="new"))

    changed = ledger.expire(NOON + HOUR + 1, HOUR)

    assert [h.channel for h in changed] == ["old"]
    assert _statuses(ledger) == ["claimed", "expired", "active"]
    assert ledger.expire(NOON + HOUR + 1, HOUR) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "There is no file"),
        ("", "is empty"),
        ("# Another\n", "does not say which handoff it is"),
        ("<!-- HANDOFF-ID: HO-2 -->\n", "says it is HO-2"),
    ],
)
def test_a_spoilt_document_is_not_given_and_stays(
    ledger: Ledger, work: Path, text: str | None, words: str
) -> None:
    """Refused with the reason; once it is mended, it can be claimed."""
    made = ledger.create(left(work))
    document = Path(made.document)
    good = document.read_text()
    document.unlink() if text is None else document.write_text(text)

    refused = _refused(ledger.claim(made.id, claimant(), now=NOON, expiry=HOUR))

    assert refused.startswith(f"{made.id} cannot be claimed. ")
    assert words in refused
    assert ledger.get(made.id) == made
    document.write_text(good)
    _claim(ledger, made, claimant())


def test_what_was_taken_in_is_consumed_once(ledger: Ledger, work: Path) -> None:
    """By its claimant alone, and only after the claim."""
    made = ledger.create(left(work))
    assert _refused(ledger.consume(made.id, ADA, NOON)) == (
        f"{made.id} is active; {ADA} has not claimed it."
    )
    given = _claim(ledger, made, claimant())
    assert _refused(ledger.consume(made.id, BOB, NOON)) == (
        f"{made.id} is claimed by {ADA}; {BOB} has not claimed it."
    )
    done = ledger.consume(made.id, ADA, NOON + 3)

    assert done == given.consumed(ADA, NOON + 3) == ledger.get(made.id)
    assert ledger.consume(made.id, ADA, NOON + 9) == done
    assert _refused(ledger.consume(HandoffId("HO-1"), ADA, NOON)) == "There is no handoff HO-1."


def test_what_waits_can_be_cleared(ledger: Ledger, work: Path) -> None:
    """By channel what nobody has claimed; by its id also what somebody has; never twice."""
    first = ledger.create(left(work))
    _claim(ledger, first, claimant())
    second = ledger.create(left(work, NOON + 1))

    assert [h.id for h in ledger.clear(channel="api", at=NOON + 5)] == [second.id]
    assert ledger.clear(channel="api", at=NOON + 5) == []
    assert [h.id for h in ledger.clear(handoff=first.id, at=NOON + 5)] == [first.id]
    assert ledger.clear(handoff=first.id, at=NOON + 9) == []
    assert _statuses(ledger) == ["cleared", "cleared"]


def test_a_claim_is_undone(ledger: Ledger, work: Path) -> None:
    """By its claimant alone, and only before it was taken in; a newer one has its place."""
    made = ledger.create(left(work))
    _claim(ledger, made, claimant())

    assert ledger.release(made.id, BOB, NOON) == []
    assert ledger.release(made.id, ADA, NOON) == [made] == [ledger.current("api")]
    assert ledger.release(made.id, ADA, NOON) == []
    _claim(ledger, made, claimant())
    ledger.create(left(work, NOON + 1))
    assert [h.status for h in ledger.release(made.id, ADA, NOON + 2)] == [Status.SUPERSEDED]
    assert ledger.release(HandoffId("none"), ADA, NOON) == []


def test_a_claim_of_the_dead_comes_back(ledger: Ledger, work: Path) -> None:
    """Only of the very process, and only if its transcript does not have the handoff."""
    made = ledger.create(left(work))
    _claim(ledger, made, claimant(transcript="/t"))

    assert ledger.release_stale(lambda *_: True, _never, now=NOON) == []
    asked: list[tuple[object, ...]] = []

    def is_alive(pid: int, started: int) -> bool:
        asked.append((pid, started))
        return False

    def transcript_has(path: str, handoff: HandoffId) -> bool:
        asked.append((path, handoff))
        return False

    changed = ledger.release_stale(is_alive, transcript_has, now=NOON)

    assert asked == [(7, 70), ("/t", made.id)]
    assert changed == [made] == [ledger.current("api")]


def test_a_transcript_that_has_it_makes_it_consumed(ledger: Ledger, work: Path) -> None:
    made = ledger.create(left(work))
    given = _claim(ledger, made, claimant(transcript="/t"))

    changed = ledger.release_stale(_dead, lambda *_: True, now=NOON + 7)

    assert changed == [given.consumed(ADA, NOON + 7)]


def test_a_transcript_that_cannot_be_read_decides_nothing(ledger: Ledger, work: Path) -> None:
    """Another claim is judged all the same."""
    made = ledger.create(left(work))
    _claim(ledger, made, claimant(transcript="/t"))
    other = ledger.create(left(work, NOON + 1, channel="web"))
    _claim(ledger, other, claimant())

    def fails(_path: str, _handoff: HandoffId) -> bool:
        raise PermissionError(13, "Permission denied")

    assert ledger.release_stale(_dead, fails, now=NOON) == [other]
    assert _statuses(ledger) == ["claimed", "active"]


def test_what_happened_while_a_transcript_was_read_counts(
    ledger: Ledger, folder: Path, work: Path
) -> None:
    """Another process has seen the proof meanwhile: nothing is given back."""
    made = ledger.create(left(work))
    _claim(ledger, made, claimant(transcript="/t"))
    other = Ledger(folder)

    def slowly(_path: str, handoff: HandoffId) -> bool:
        other.consume(handoff, ADA, NOON + 1)
        return False

    assert ledger.release_stale(_dead, slowly, now=NOON + 2) == []
    assert _statuses(ledger) == ["consumed"]
    other.close()


def test_a_claim_that_comes_back_too_late_is_superseded(ledger: Ledger, work: Path) -> None:
    """A newer one waits already; of two that come back, the newer one does."""
    for number, channel in enumerate(("api", "api", "web", "web")):
        made = ledger.create(left(work, NOON + number, channel=channel))
        _claim(ledger, made, claimant(), NOON + number)
    ledger.create(left(work, NOON + 9))

    ledger.release_stale(_dead, _never, now=NOON + 10)

    assert _statuses(ledger) == ["superseded", "superseded", "superseded", "active", "active"]


def test_names_of_folders_stay_theirs(ledger: Ledger, folder: Path) -> None:
    """Two folders called alike get two names, whoever asks, and for ever."""
    one = Place(root="/a/api", why=Why.GIT)
    two = Place(root="/b/api", why=Why.FOLDER)
    first, second = ledger.channel(one), ledger.channel(two)
    other = Ledger(folder)

    assert (first.name, first.root, first.why) == ("api", "/a/api", Why.GIT)
    assert second.name.startswith("api-")
    assert (other.channel(two), other.channel(one)) == (second, first)
    assert other.names() == {first.name: "/a/api", second.name: "/b/api"}
    registered = Place(root="/c", why=Why.REGISTERED, registered="api")
    assert ledger.channel(registered).name == "api"
    assert ledger.channel(one, reserved=["api"]).name.startswith("api-")
    other.close()


def test_threads_ask_one_after_the_other(ledger: Ledger, work: Path) -> None:
    """One ledger serves all threads of a daemon."""
    made = ledger.create(left(work))
    with ThreadPoolExecutor(8) as threads:
        answers = list(
            threads.map(
                lambda n: ledger.claim(
                    made.id, claimant(SessionId(f"{n:08x}")), now=NOON, expiry=HOUR
                ),
                range(40),
            )
        )

    assert sum(isinstance(answer, ChannelHandoff) for answer in answers) == 1


@pytest.mark.parametrize(
    "path", ["/a b/'c'/\"d\"", "/a:b", "/two\nlines", "/ünï/漢字", "/raw\udcff", "/;drop table--"]
)
def test_paths_of_any_kind_come_back_as_they_were(ledger: Ledger, work: Path, path: str) -> None:
    new = replace(left(work), working_dir=path, root=path)
    made = ledger.create(new)
    given = _claim(ledger, made, claimant(transcript=path))

    assert (made.root, made.working_dir, given.transcript) == (path, path, path)
    assert ledger.get(made.id) == given
    assert ledger.channel(Place(root=path, why=Why.FOLDER)).root == path
    assert path in ledger.names().values()
    assert ledger.not_exported == ()


def _dead(_pid: int, _started: int) -> bool:
    return False


def _never(_path: str, _handoff: HandoffId) -> bool:
    return False
