"""Each session's folder on the real disk."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sm.adapters.folders import SessionFolders
from sm.core.ids import SessionId
from sm.core.launch import AgentLine
from sm.settings.home import Home

BOB, CAT = SessionId("b0b00000"), SessionId("ca700000")
ADA = SessionId("0a1b2c3d")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "ho me", tmp_path / "config.toml", tmp_path / "run", is_default=False)


@pytest.fixture
def folders(home: Home) -> SessionFolders:
    return SessionFolders(home)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _line(folders: SessionFolders) -> AgentLine:
    settings = str(folders.folder(ADA) / "settings.json")
    return AgentLine(argv=("/bin/x", "-a"), environment={"B": "2"}, files={settings: b"{}"})


def test_a_session_is_prepared_with_all_its_launcher_needs(folders: SessionFolders) -> None:
    """Directory, program, the caller's environment, and what the dialect adds to it."""
    folders.prepare(ADA, _line(folders), {"A": "1", "B": "1"}, "/shop")

    folder = folders.folder(ADA)
    launcher, file = folders.launch_argv(ADA)
    assert Path(launcher).name == "launch"
    assert json.loads(Path(file).read_text()) == {
        "argv": ["/bin/x", "-a"],
        "environment": {"A": "1", "B": "2"},
        "cwd": "/shop",
        "once": False,
    }
    assert (folder / "settings.json").read_bytes() == b"{}"
    assert {_mode(p) for p in folder.iterdir()} == {0o600}
    assert _mode(folder) == 0o700


def test_the_environment_is_forgotten_and_the_log_stays(folders: SessionFolders) -> None:
    """A session that is over keeps no secrets of its caller."""
    folders.prepare(ADA, _line(folders), {"KEY": "secret"}, "/shop")

    folders.forget_environment(ADA)
    folders.forget_environment(ADA)

    left = b"".join(p.read_bytes() for p in folders.folder(ADA).iterdir())
    assert b"secret" not in left
    assert Path(folders.raw_log(ADA)).exists()


def test_an_environment_that_is_not_to_be_kept_is_forgotten_early(home: Home) -> None:
    """Its agent was started, or cannot be: nobody else needs it."""
    for keeps in (True, False):
        folders = SessionFolders(home, keeps_environment=keeps)
        folders.lend(ADA, {"KEY": "secret"})
        folders.forget_unkept(ADA)
        assert Path(folders.launch_argv(ADA)[1]).exists() is keeps


def test_which_recovery_an_agent_was_started_by_is_noted(folders: SessionFolders) -> None:
    """Whoever finds it running knows what it is; the next plain start is of none."""
    assert folders.recovery(ADA) == {}

    folders.prepare(ADA, _line(folders), {}, "/shop", recovery={"id": "r1"})
    assert folders.recovery(ADA) == {"id": "r1"}

    folders.prepare(ADA, _line(folders), {}, "/shop")
    assert folders.recovery(ADA) == {}


def test_an_environment_that_is_not_kept_can_be_lent(folders: SessionFolders) -> None:
    folders.prepare(ADA, _line(folders), {"KEY": "own"}, "/shop")
    folders.forget_environment(ADA)
    with pytest.raises(OSError, match=r"launch\.json"):
        folders.environment(ADA)

    folders.lend(ADA, {"KEY": "lent"})

    assert folders.environment(ADA) == {"KEY": "lent"}
    assert _mode(Path(folders.launch_argv(ADA)[1])) == 0o600


@pytest.mark.parametrize(
    "content",
    [b"", b'{"x', b"\xff", b"null", b"[]", b"{}", b'{"argv":1}', b'{"environment":1}', b"[" * 9999],
)
def test_a_file_without_an_environment_is_as_good_as_none(
    folders: SessionFolders, content: bytes
) -> None:
    """Whoever brings the session back lends theirs, as where the file is gone."""
    folders.make(ADA)
    Path(folders.launch_argv(ADA)[1]).write_bytes(content)

    with pytest.raises(FileNotFoundError, match=r"holds no environment.*launch\.json"):
        folders.environment(ADA)


def test_a_folder_that_others_kept_stands_for_our_own(
    folders: SessionFolders, tmp_path: Path
) -> None:
    """What was written down names files in it; it goes as a whole."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "raw.log").write_text("said")

    folders.inherit(ADA, theirs)
    folders.inherit(ADA, theirs)

    assert Path(folders.raw_log(ADA)).read_text() == "said"
    folders.discard(ADA)
    assert not theirs.exists()
    assert not folders.folder(ADA).is_symlink()


def test_a_folder_can_be_taken_back(folders: SessionFolders) -> None:
    """A session that was never stored leaves nothing behind."""
    folders.prepare(ADA, _line(folders), {}, "/shop")

    folders.discard(ADA)
    folders.discard(ADA)

    assert not folders.folder(ADA).exists()


def test_only_what_never_ran_is_tidied_away(folders: SessionFolders) -> None:
    """A lost store must not take what agents showed with it."""
    for session in (ADA, BOB, CAT):
        folders.prepare(session, _line(folders), {}, "/shop")
    Path(folders.raw_log(BOB)).write_bytes(b"hello")

    folders.tidy([CAT])

    assert not folders.folder(ADA).exists()
    assert folders.folder(BOB).exists()
    assert folders.folder(CAT).exists()


def test_the_scripts_run_and_are_closed_to_others(folders: SessionFolders, home: Home) -> None:
    """From a home with a blank in its path, too."""
    folders.write_scripts()

    hook = subprocess.run([folders.hook_command], input=b"{}", capture_output=True)
    launch = subprocess.run([home.bin / "launch", "/nowhere"], capture_output=True)

    assert (hook.returncode, hook.stdout, hook.stderr) == (0, b"", b"")
    assert launch.returncode == 127
    assert {_mode(p) for p in home.bin.rglob("*")} == {0o700}


def test_scripts_that_were_deleted_are_there_for_the_next_session(
    folders: SessionFolders, home: Home
) -> None:
    """Its launcher is one of them."""
    folders.write_scripts()
    assert folders.missing_scripts() == []
    (home.bin / "launch").unlink()
    (home.bin / "hook").chmod(0o600)
    assert folders.missing_scripts() == [home.bin / "hook", home.bin / "launch"]
    (home.bin / "hook").unlink()

    folders.prepare(ADA, _line(folders), {}, "/")

    assert folders.missing_scripts() == []


def test_an_agent_finds_sm_behind_everything_else(folders: SessionFolders, home: Home) -> None:
    """A virtual environment's sm need not be on the PATH of the person who made it."""
    folders.write_scripts()

    environment = folders.with_sm({"PATH": "/usr/bin:/bin", "A": "1"})

    assert environment == {"PATH": f"{home.bin / 'path'}:/usr/bin:/bin", "A": "1"}
    done = subprocess.run(["sm", "version"], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout.split()[0], done.stderr) == (0, "sm", "")


@pytest.mark.parametrize("path", [None, ""])
def test_without_a_path_the_usual_one_holds(
    folders: SessionFolders, home: Home, path: str | None
) -> None:
    """An empty one would mean the folder the agent happens to be in."""
    environment = folders.with_sm({} if path is None else {"PATH": path})

    assert environment["PATH"] == f"{home.bin / 'path'}:{os.defpath}"


def test_a_hook_of_a_removed_installation_harms_no_agent(
    folders: SessionFolders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Python is gone, agents still call the hook: it says nothing and succeeds."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone" / "python"))
    folders.write_scripts()

    hook = subprocess.run([folders.hook_command], input=b"{}", capture_output=True)

    assert (hook.returncode, hook.stdout, hook.stderr) == (0, b"", b"")


def _installed(folders: SessionFolders, env: dict[str, str]) -> bytes:
    """What a hook of a person's own settings costs and says, with everything it starts."""
    done = subprocess.run(
        ["sh", "-x", folders.hook_command, "--installed"], input=b"{}", capture_output=True, env=env
    )
    assert (done.returncode, done.stdout) == (0, b"")
    return done.stderr


def test_an_installed_hook_starts_python_only_if_it_must(
    folders: SessionFolders, home: Home
) -> None:
    """It is called at every tool of every agent: in a session of ours, and while nobody is
    adopted, a shell of a millisecond ends it. Otherwise the stub hears of it, and how."""
    folders.write_scripts()
    assert b"exec" not in _installed(folders, {})
    (home.state / "adopted").mkdir()
    assert b"exec" not in _installed(folders, {})
    (home.state / "adopted" / "one").touch()
    (home.state / "adopted" / "two").touch()
    assert b"exec" not in _installed(folders, {"CLAUDE_SESSION_MANAGER_ID": "0a1b2c3d"})
    assert not home.spool.exists()

    assert _installed(folders, {}).endswith(b"--installed\n")
    assert len(list(home.spool.iterdir())) == 1


def test_an_adopted_session_has_a_folder_and_a_mark(folders: SessionFolders, home: Home) -> None:
    """Installed hooks call sm only while there is a mark."""
    folders.make(ADA)
    folders.note_adopted(ADA)
    folders.note_adopted(ADA)

    assert Path(folders.raw_log(ADA)).read_bytes() == b""
    assert [path.name for path in home.adopted.iterdir()] == [ADA]
    assert _mode(home.adopted) == 0o700

    folders.forget_adopted(ADA)
    folders.forget_adopted(ADA)

    assert list(home.adopted.iterdir()) == []
