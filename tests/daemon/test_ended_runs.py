"""What is left of runs that are over, and when it goes."""

from pathlib import Path

import pytest

from sm.adapters.folders import SessionFolders
from sm.api.runs import home_of_run, name_of_run, write_run
from sm.core.ids import SessionId
from sm.daemon.ended_runs import forget_runs
from sm.settings.home import Home
from tests.daemon.test_killed_runs import NOW, begun, noted

RUN = "aaaaaaaa"
NOBODY: dict[int, int] = {}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", tmp_path / "config.toml", tmp_path / "run", is_default=False)


def over(home: Home, run: str = RUN, *, at: float = NOW) -> Home:
    """A run that ended; its home."""
    begun(home, run, 1)
    own = home_of_run(home, run)
    write_run(own, {**noted(own, run, 1), "ended_at": at, "code": 0})
    return own


def test_a_run_that_is_long_over_leaves_nothing(home: Home) -> None:
    """Log and snapshots included; what other runs share is not its own."""
    own = over(home)
    home.channels.mkdir(parents=True)
    (home.channels / "shared").touch()
    own.channels.symlink_to(home.channels)

    assert forget_runs(home, NOBODY.get, NOW + 1) == [RUN]

    assert not own.base.exists()
    assert (home.channels / "shared").exists()
    assert forget_runs(home, NOBODY.get, NOW + 1) == []


def test_a_run_that_is_over_only_now_is_kept(home: Home) -> None:
    over(home)

    assert forget_runs(home, NOBODY.get, NOW) == []
    assert name_of_run(home, RUN) == RUN


def test_a_run_that_goes_on_is_kept(home: Home) -> None:
    """Also while its wrapper has said that it is over, and is not yet gone itself."""
    begun(home, "bbbbbbbb", 2)
    over(home)

    assert forget_runs(home, {1: 7, 2: 7}.get, NOW + 1) == []


def test_a_run_in_which_another_goes_on_is_kept(home: Home) -> None:
    """Its agent began one, in its own home."""
    inner = begun(over(home), "bbbbbbbb", 2)

    assert forget_runs(home, NOBODY.get, NOW + 1) == []
    assert inner.exists()


def test_what_became_the_daemons_is_kept(home: Home) -> None:
    """Its session has its log there, and goes with it."""
    own = over(home)
    folders = SessionFolders(home)
    folders.inherit(SessionId(RUN), SessionFolders(own).folder(SessionId(RUN)))

    assert forget_runs(home, NOBODY.get, NOW + 1) == []

    folders.discard(SessionId(RUN))
    assert forget_runs(home, NOBODY.get, NOW + 1) == [RUN]
