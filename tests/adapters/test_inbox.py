"""Notes change hands by one rename, on the real disk."""

import stat
from pathlib import Path
from threading import Barrier, Thread

import pytest

from sm.adapters.folders import SessionFolders
from sm.adapters.inbox import Inboxes
from sm.core.ids import SessionId
from sm.core.terminal import NoteState
from sm.settings.home import Home

ADA = SessionId("0a1b2c3d")
MARK = "0123456789ab.1"


@pytest.fixture
def inboxes(tmp_path: Path) -> Inboxes:
    home = Home(tmp_path / "home", tmp_path / "config.toml", tmp_path / "run", is_default=False)
    return Inboxes(SessionFolders(home))


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def inbox(inboxes: Inboxes) -> Path:
    return Path(inboxes.folder(ADA))


def take(inboxes: Inboxes) -> str:
    """What the agent's hook does."""
    taken = inbox(inboxes).parent / "taken"
    taken.mkdir(exist_ok=True)
    return (inbox(inboxes) / f"{MARK}.note").rename(taken / f"{MARK}.note").read_text("utf-8")


def test_a_note_lies_in_the_inbox_whole_and_private(inboxes: Inboxes) -> None:
    """Nothing else ever lies there: the agent reports every change of that folder."""
    inboxes.leave(ADA, MARK, "hello ❯ \ud83d")

    (note,) = inbox(inboxes).iterdir()
    assert (note.name, note.read_text("utf-8")) == (f"{MARK}.note", "hello ❯ ?")
    assert (_mode(note), _mode(note.parent)) == (0o600, 0o700)
    assert inboxes.look(ADA, MARK) is NoteState.WAITING


def test_the_folder_is_there_before_the_first_note(inboxes: Inboxes) -> None:
    """An agent can only watch what exists."""
    assert inbox(inboxes).is_dir()
    assert inboxes.look(ADA, MARK) is NoteState.NEVER


def test_a_note_that_was_taken_is_not_written_again(inboxes: Inboxes) -> None:
    """Asked for again after a crash: the agent has it."""
    inboxes.leave(ADA, MARK, "hello")
    assert take(inboxes) == "hello"

    inboxes.leave(ADA, MARK, "hello")

    assert inboxes.look(ADA, MARK) is NoteState.TAKEN
    assert list(inbox(inboxes).iterdir()) == []


def test_a_note_that_was_taken_back_is_not_written_again(inboxes: Inboxes) -> None:
    inboxes.leave(ADA, MARK, "hello")

    assert inboxes.withdraw(ADA, MARK)
    inboxes.leave(ADA, MARK, "hello")

    assert inboxes.look(ADA, MARK) is NoteState.WITHDRAWN
    assert list(inbox(inboxes).iterdir()) == []
    assert inboxes.withdraw(ADA, MARK), "asked again after a crash"


def test_a_note_that_was_taken_or_never_written_cannot_be_taken_back(inboxes: Inboxes) -> None:
    assert not inboxes.withdraw(ADA, MARK)

    inboxes.leave(ADA, MARK, "hello")
    take(inboxes)

    assert not inboxes.withdraw(ADA, MARK)
    assert inboxes.look(ADA, MARK) is NoteState.TAKEN


def test_another_try_is_another_note(inboxes: Inboxes) -> None:
    inboxes.leave(ADA, MARK, "hello")
    inboxes.withdraw(ADA, MARK)

    inboxes.leave(ADA, "0123456789ab.2", "hello")

    assert inboxes.look(ADA, "0123456789ab.2") is NoteState.WAITING


def test_half_a_note_of_a_killed_daemon_is_overwritten(inboxes: Inboxes) -> None:
    """It was being written beside the inbox, where no agent looks."""
    (inbox(inboxes).parent / f".{MARK}.note").write_text("hel")

    inboxes.leave(ADA, MARK, "hello")

    assert take(inboxes) == "hello"


def test_one_of_two_who_come_at_once_gets_it(inboxes: Inboxes) -> None:
    """The agent's hook and sm reach for the same note, two hundred times."""
    for number in range(200):
        mark = f"0123456789ab.{number}"
        inboxes.leave(ADA, mark, "hello")
        (taken := inbox(inboxes).parent / "taken").mkdir(exist_ok=True)
        start, got = Barrier(2), list[str]()

        def agent(mark: str = mark, start: Barrier = start, got: list[str] = got) -> None:
            start.wait()
            try:
                (inbox(inboxes) / f"{mark}.note").rename(taken / f"{mark}.note")
            except FileNotFoundError:
                return
            got.append("agent")

        hook = Thread(target=agent)
        hook.start()
        start.wait()
        got += ["sm"] if inboxes.withdraw(ADA, mark) else []
        hook.join()

        assert len(got) == 1
        is_ours = inboxes.look(ADA, mark) is NoteState.WITHDRAWN
        assert is_ours is (got == ["sm"])
