"""What sm tells of one session to another."""

from sm.core.notices import notice, person_notice_id
from tests.core.samples import BOB, IDLE, NOON


def test_a_notice_is_the_same_notice_when_it_is_made_again() -> None:
    """After a crash the same cause gives the same message id; another cause another."""
    first = notice(IDLE, BOB, "m1", "ada stopped", NOON)

    assert notice(IDLE, BOB, "m1", "ada stopped", NOON + 5).message.id == first.message.id
    assert notice(IDLE, BOB, "m2", "ada stopped", NOON).message.id != first.message.id


def test_what_the_person_is_told_is_known_by_its_session_and_its_cause() -> None:
    """The same again is the same; so it is listed once."""
    first = person_notice_id(IDLE.id, "crash loop at noon")

    assert person_notice_id(IDLE.id, "crash loop at noon") == first
    others = (person_notice_id(BOB, "crash loop at noon"), person_notice_id(IDLE.id, "another"))
    assert first not in others
