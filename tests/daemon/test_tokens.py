"""Tokens on the disk."""

import stat
from pathlib import Path

import pytest

from sm.adapters.agents import Dialects
from sm.adapters.folders import SessionFolders
from sm.api.runs import home_of_run
from sm.core.ids import SessionId
from sm.daemon.tokens import Tokens
from sm.settings.home import Home

ADA, BOB = SessionId("0a1b2c3d"), SessionId("11111111")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, tmp_path / "config.toml", tmp_path / "run", is_default=False)


@pytest.fixture
def tokens(home: Home) -> Tokens:
    return Tokens(home, SessionFolders(home))


def test_the_owners_token_is_made_once_and_kept_private(tokens: Tokens, home: Home) -> None:
    """Browsers and scripts keep working after a restart."""
    first = tokens.admin()

    assert tokens.admin() == first == home.token.read_text().strip()
    assert len(first) >= 40
    assert stat.S_IMODE(home.token.stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", [b"", b" \n", b"\xff\xfe\x00", "\u2713".encode()])
def test_an_owners_token_that_is_damaged_is_made_anew(
    tokens: Tokens, home: Home, damage: bytes
) -> None:
    """Nobody could show it, and the daemon must start."""
    home.token.parent.mkdir(parents=True)
    home.token.write_bytes(damage)

    made = tokens.admin()
    assert len(made) >= 40
    assert home.token.read_text().strip() == made


def test_each_session_has_a_token_of_its_own(tokens: Tokens, home: Home) -> None:
    """What an agent is given says who it is, and opens no other door."""
    ada, bob = tokens.identity(ADA), tokens.identity(BOB)

    assert ada["CLAUDE_SESSION_MANAGER_ID"] == ADA
    assert ada["SM_HOME"] == str(home.base)
    assert ada["SM_SESSION_TOKEN"] not in (bob["SM_SESSION_TOKEN"], tokens.admin())
    assert tokens.of_session(ADA) == ada["SM_SESSION_TOKEN"]
    assert stat.S_IMODE((home.sessions / ADA / "token").stat().st_mode) == 0o600


def test_the_default_home_is_not_spelled_out(tmp_path: Path) -> None:
    """An agent in the usual home needs no SM_HOME."""
    home = Home(tmp_path, tmp_path / "c", tmp_path / "r", is_default=True)

    assert "SM_HOME" not in Tokens(home, SessionFolders(home)).identity(ADA)


@pytest.mark.parametrize("is_default", [True, False])
def test_an_agent_that_was_a_runs_speaks_to_who_brings_it_back(
    tmp_path: Path, *, is_default: bool
) -> None:
    """What the run gave it names the run's own home, where nobody answers any more."""
    home = Home(tmp_path, tmp_path / "config.toml", tmp_path / "r", is_default=is_default)
    own = home_of_run(home, ADA)
    theirs = Tokens(own, SessionFolders(own)).identity(ADA)
    assert theirs["SM_HOME"] == str(own.base)

    mine = {**Dialects().clean(theirs), **Tokens(home, SessionFolders(home)).identity(ADA)}

    assert mine.get("SM_HOME") == (None if is_default else str(home.base))
    assert "SM_CONFIG" not in mine


@pytest.mark.parametrize("session", ["ffffffff", "", "..", "../0a1b2c3d", "0a1b2c3d/token", "a\0"])
def test_a_session_that_is_none_has_no_token(tokens: Tokens, session: str) -> None:
    """No path to another file can be spelled."""
    tokens.identity(ADA)

    assert tokens.of_session(session) is None
