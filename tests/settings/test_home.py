"""Where sm keeps its files, and the folders it refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sm.settings.home import SOCKET_PATH_LIMIT, Home, HomeError


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SM_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def _home(folder: Path, runtime: Path | None = None) -> Home:
    return Home(folder, folder / "config.toml", runtime or folder / "run", is_default=False)


def test_sm_home_moves_state_and_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With SM_HOME set, everything lives under it."""
    monkeypatch.setenv("SM_HOME", str(tmp_path / "moved"))

    home = Home.from_environment()

    assert home.config == tmp_path / "moved" / "config.toml"
    assert home.store.parent.parent == tmp_path / "moved"
    assert not home.is_default


def test_a_relative_sm_home_means_the_callers_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SM_HOME=here is the folder "here" in the directory sm was called in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SM_HOME", "here")

    assert Home.from_environment().base == tmp_path / "here"


def test_without_sm_home_the_xdg_folders_are_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """State, configuration and sockets each go where XDG says."""
    monkeypatch.setenv("XDG_STATE_HOME", "/x/state")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/x/config")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    home = Home.from_environment()

    assert (home.base, home.config) == (Path("/x/state/sm"), Path("/x/config/sm/config.toml"))
    assert home.socket.parent == tmp_path / "sm"
    assert home.is_default


def test_without_any_variable_the_usual_folders_are_used(tmp_path: Path) -> None:
    """~/.local/state/sm, ~/.config/sm and a private folder in /tmp."""
    home = Home.from_environment()

    assert home.base == tmp_path / ".local/state/sm"
    assert home.config == tmp_path / ".config/sm/config.toml"
    assert home.runtime == Path(f"/tmp/sm-{os.geteuid()}")


def test_xdg_values_that_are_no_absolute_path_are_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A relative XDG folder is invalid by its own standard."""
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))

    home = Home.from_environment()

    assert home.base == tmp_path / ".local/state/sm"
    assert home.runtime == Path(f"/tmp/sm-{os.geteuid()}")


def test_each_host_has_its_own_state_under_a_shared_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two hosts that share a home folder never share a store, a socket or a tmux server."""
    monkeypatch.setattr("socket.gethostname", lambda: "alpha.example.org")
    alpha = _home(tmp_path)
    monkeypatch.setattr("socket.gethostname", lambda: "be/ta")
    beta = _home(tmp_path)

    assert alpha.state == tmp_path / "alpha"
    assert beta.state == tmp_path / "be-ta"
    assert alpha.socket != beta.socket


def test_two_homes_get_different_sockets_and_tmux_servers(tmp_path: Path) -> None:
    """A second SM_HOME cannot touch the agents of the first."""
    one, two = _home(tmp_path / "one", tmp_path), _home(tmp_path / "two", tmp_path)

    assert one.socket != two.socket
    assert one.lock != two.lock
    assert one.tmux_socket("sm") != two.tmux_socket("sm")


def test_a_home_reached_through_a_link_is_the_same_home(tmp_path: Path) -> None:
    """However one spells the path, there is one daemon."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert _home(tmp_path / "link").tag == _home(tmp_path / "real").tag


def test_a_daemon_started_with_another_runtime_folder_is_found(tmp_path: Path) -> None:
    """A job without a login has other XDG variables, and yet the same daemon."""
    home = _home(tmp_path / "home", tmp_path / "run")
    home.make()
    assert home.live_socket == home.socket

    home.pid.write_text("123 0.1.0 /else where/x.sock\n")
    assert home.live_socket == Path("/else where/x.sock")

    home.pid.write_text("123 0.1.0\n")
    assert home.live_socket == home.socket


def test_the_default_home_has_the_plain_tmux_name(tmp_path: Path) -> None:
    """`tmux -L sm attach` works by hand."""
    assert Home.from_environment().tmux_socket("sm") == "sm"


def test_every_folder_is_made_closed_to_others(tmp_path: Path) -> None:
    """Whatever the umask, nobody else can look inside."""
    home = _home(tmp_path / "home")
    before = os.umask(0)
    try:
        home.make()
    finally:
        os.umask(before)

    folders = [home.base, home.state, home.runtime, home.logs, home.bin, home.sessions, home.spool]
    assert {f.stat().st_mode & 0o777 for f in folders} == {0o700}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("foreign", ["home", "run"])
def test_a_folder_of_another_user_is_refused(tmp_path: Path, foreign: str) -> None:
    """`sudo sm ls` must not leave root's files in a person's home."""
    home = _home(tmp_path / "home", tmp_path / "run")
    home.make()
    os.chown(tmp_path / foreign, 12345, -1)

    with pytest.raises(HomeError) as refused:
        home.make()

    assert str(refused.value) == (
        f"{tmp_path / foreign} belongs to uid 12345, you are 0. "
        "Run sm as its owner (without sudo) or set SM_HOME to a folder of your own."
    )


def test_a_runtime_folder_open_to_others_is_refused(tmp_path: Path) -> None:
    """Somebody else could have put a socket of theirs in it."""
    home = _home(tmp_path / "home", tmp_path / "sm")
    home.make()
    home.runtime.chmod(0o750)

    with pytest.raises(HomeError) as refused:
        home.check()

    assert str(refused.value) == (
        f"{home.runtime} is open to others. Close it with: chmod 700 {home.runtime}"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
def test_a_runtime_folder_behind_somebody_elses_link_is_refused(tmp_path: Path) -> None:
    """In /tmp anybody can lay a link in our way."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "run").symlink_to(tmp_path / "real")
    os.lchown(tmp_path / "run", 12345, -1)

    with pytest.raises(HomeError, match="is open to others"):
        _home(tmp_path / "home", tmp_path / "run").check()


def test_a_home_made_by_hand_may_be_readable(tmp_path: Path) -> None:
    """`mkdir sm-test; SM_HOME=sm-test sm ls` works: what is private lies in a closed folder."""
    (tmp_path / "sm-test").mkdir(mode=0o755)
    home = _home(tmp_path / "sm-test")

    home.make()

    assert home.state.stat().st_mode & 0o777 == 0o700


def test_a_file_in_place_of_the_home_is_refused(tmp_path: Path) -> None:
    """The message says what stands in the way."""
    (tmp_path / "home").touch()

    with pytest.raises(HomeError) as refused:
        _home(tmp_path / "home").check()

    assert str(refused.value) == (
        f"{tmp_path / 'home'} is not a folder. Move it away or set SM_HOME."
    )


@pytest.mark.parametrize("name", ["token", "port", "store.db", "daemon.pid", "daemon.lock"])
def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    """A daemon would begin and end there without end."""
    home = _home(tmp_path / "home", tmp_path / "run")
    home.make()
    (home.state / name).mkdir()

    with pytest.raises(HomeError) as refused:
        home.make()

    assert home.misplaced() == [home.state / name]
    assert str(refused.value) == (
        f"{home.state / name} is a folder, and sm keeps a file there. Move it away."
    )


def test_a_home_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    """A file in the middle of the path is named."""
    (tmp_path / "file").touch()

    with pytest.raises(HomeError) as refused:
        _home(tmp_path / "file" / "home", tmp_path / "run").make()

    assert str(refused.value) == f"Cannot use {tmp_path / 'file' / 'home'}: Not a directory."


@pytest.mark.parametrize("name", ["x" * 300, "/".join(["x" * 200] * 20)])
def test_a_home_whose_name_is_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Before anything is looked for in it."""
    monkeypatch.setenv("SM_HOME", str(tmp_path / name))

    with pytest.raises(HomeError, match=r"is too long\. Set SM_HOME to a shorter one\."):
        Home.from_environment()


def test_a_socket_path_that_is_too_long_is_refused(tmp_path: Path) -> None:
    """The kernel's limit is told in words, before anything is started."""
    runtime = tmp_path / ("x" * (SOCKET_PATH_LIMIT - len(str(tmp_path))))

    with pytest.raises(HomeError, match=r"is too long for a socket\. Set XDG_RUNTIME_DIR"):
        _home(tmp_path, runtime).check()


def test_finding_the_home_loads_nothing_slow() -> None:
    """Every command needs it."""
    slow = ["asyncio", "subprocess", "dataclasses", "msgspec", "tomllib"]
    code = f"import sys, sm.settings.home; print(*[m for m in {slow} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == []


def test_a_home_whose_name_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """Before anything is started that could not even say where it is."""
    home = _home(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")), tmp_path / "run")

    with pytest.raises(HomeError, match=r"caf\\xe9 is not valid UTF-8. Set SM_HOME to a folder"):
        home.check()
