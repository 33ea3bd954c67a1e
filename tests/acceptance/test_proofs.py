"""Short versions of what `make prove` shows whole."""

from tests.kit.sm import Sm
from tests.prove import channels, chaos, commits, crowd, texts


def test_hostile_texts_arrive_byte_for_byte(sm: Sm) -> None:
    """Semicolons, slashes, quotes, emoji, 100 KB, escapes: what was sent is what arrives."""
    results = texts.exact(sm)

    assert [name for name, is_exact in results.items() if not is_exact] == []


def test_a_daemon_killed_at_commit_points_loses_and_doubles_nothing(sm: Sm) -> None:
    """kill -9 on both sides of every ninth commit of a scripted run."""
    runs = list(commits.every_commit(sm, stride=9, first=4))

    assert len(runs) >= 6
    assert [run for run in runs if not run[2].holds] == []


def test_a_daemon_killed_at_random_moments_loses_and_doubles_nothing(sm: Sm) -> None:
    verdict = chaos.under_faults(sm, chaos.kill_worker, times=6, pause=1.5)

    assert verdict.holds, verdict
    assert verdict.sent > 5
    assert sm.health()["restarts"] == 6


def test_a_cut_tmux_connection_loses_and_doubles_nothing(sm: Sm) -> None:
    verdict = chaos.under_faults(sm, chaos.cut_control, times=5, pause=0.6)

    assert verdict.holds, verdict
    assert verdict.sent > 5


def test_a_stopped_daemon_loses_and_doubles_nothing(sm: Sm) -> None:
    verdict = chaos.under_faults(sm, chaos.stop_worker, times=1, pause=1.0)

    assert verdict.holds, verdict
    assert verdict.sent > 5


def test_many_senders_to_many_sessions_keep_order(sm: Sm) -> None:
    verdict = crowd.crowd(sm, sessions=6, senders=5, messages=60)

    assert verdict.holds, verdict
    assert verdict.sent == 60


def test_of_many_that_ask_one_is_given_what_waits(sm: Sm) -> None:
    verdict, words = channels.race(sm, sessions=6)

    assert verdict.holds, words
