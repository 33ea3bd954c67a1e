"""Folders registered in the configuration."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sm.adapters.channels.ledger import Ledger
from sm.core.channel import Channel, Place, Why
from sm.install import channels
from sm.install.files import InstallError
from sm.settings.config import load
from sm.settings.home import Home

MINE = b"""\
# my own\r
[tmux]\r
history_limit = 1000   # lines

[handoff]
expiry = '1h'
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    base = tmp_path / "home"
    return Home(base, base / "config.toml", tmp_path / "run", is_default=False)


@pytest.fixture
def api(tmp_path: Path) -> Path:
    made = tmp_path / "me" / "src" / "api"
    made.mkdir(parents=True)
    return made


def _refused(home: Home, folder: Path, name: str = "api") -> str:
    with pytest.raises(InstallError) as refused:
        channels.add(home, folder, name)
    return str(refused.value)


def test_a_folder_is_registered_and_found(home: Home, api: Path) -> None:
    """Without a configuration one is made, private; the home is written as ~."""
    assert channels.add(home, api, "shop")

    assert home.config.read_text() == '[channels]\n"~/src/api" = "shop"\n'
    assert stat.S_IMODE(home.config.stat().st_mode) == 0o600
    assert channels.find(home, api) == Channel(name="shop", root=str(api), why=Why.REGISTERED)
    (api / "deep").mkdir()
    assert channels.find(home, api / "deep").name == "shop"
    assert channels.find(home, api.parent).why is Why.FOLDER
    assert not home.state.exists()


def test_the_rest_of_the_file_stays_byte_for_byte(home: Home, api: Path) -> None:
    """Comments, blanks, line ends and mode; taken out again, only an empty table is left."""
    home.base.mkdir()
    home.config.write_bytes(MINE)
    home.config.chmod(0o640)
    channels.add(home, api, "api")
    channels.add(home, api.parent, "src")

    table = b'\r\n[channels]\r\n"~/src/api" = "api"\r\n"~/src" = "src"\r\n'
    assert home.config.read_bytes() == MINE + table
    assert stat.S_IMODE(home.config.stat().st_mode) == 0o640
    assert channels.remove(home, api) == "api"
    assert channels.remove(home, api.parent) == "src"
    assert home.config.read_bytes() == MINE + b"\r\n[channels]\r\n"


def test_the_same_again_changes_nothing(home: Home, api: Path, tmp_path: Path) -> None:
    """However the folder is spelt, also through a link."""
    channels.add(home, api, "api")
    (tmp_path / "link").symlink_to(api)
    before = home.config.stat()

    for spelt in (api, tmp_path / "link", api / ".." / "api"):
        assert not channels.add(home, spelt, "api")
    after = home.config.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_second_name_is_refused(home: Home, api: Path) -> None:
    """The words say what it is called, where, and how to change that."""
    channels.add(home, api, "api")

    assert _refused(home, api, "web") == (
        f"{api} is already registered as api in {home.config}. "
        f"Take it out first: sm channel remove {api}"
    )


def test_a_name_that_is_none_is_refused(home: Home, api: Path) -> None:
    assert _refused(home, api, "../../x").startswith("'../../x' cannot be a channel's name.")
    assert not home.base.exists()


def test_a_name_that_differs_in_case_alone_is_refused(home: Home, api: Path) -> None:
    """What comes of the change is checked before it is written."""
    channels.add(home, api, "api")
    before = home.config.read_bytes()

    assert "must be spelt 'api', as it is above" in _refused(home, api.parent, "API")
    assert home.config.read_bytes() == before


@pytest.mark.parametrize("content", [b"[tmux", b"x = 1\n", b"\xff", b"[channels]\n'/a' = '/'\n"])
def test_a_file_that_is_wrong_is_named_and_left_alone(
    home: Home, api: Path, content: bytes
) -> None:
    """With the words any command has for it."""
    home.base.mkdir()
    home.config.write_bytes(content)

    assert _refused(home, api).startswith(f"{home.config}: ")
    with pytest.raises(InstallError, match="Nothing was changed"):
        channels.remove(home, api)
    with pytest.raises(InstallError):
        channels.find(home, api)
    assert home.config.read_bytes() == content


def test_a_table_in_another_style_is_left_to_its_author(home: Home, api: Path) -> None:
    home.base.mkdir()
    home.config.write_text('channels = {"/b" = "b"}\n')

    assert _refused(home, api) == (
        f"[channels] in {home.config} is not written as lines such as "
        '"~/src/api" = "api". Change it by hand; nothing was changed.'
    )


def test_a_folder_that_is_not_registered_cannot_be_taken_out(home: Home, api: Path) -> None:
    with pytest.raises(InstallError) as refused:
        channels.remove(home, api)

    assert str(refused.value) == (
        f"{api} is not registered in {home.config}. Where it belongs is told by: sm channel {api}"
    )


def test_every_spelling_is_taken_out(home: Home, api: Path) -> None:
    home.base.mkdir()
    home.config.write_text(f'[channels]\n"~/src/api" = "a"\n"{api}/" = "a"\n"/b" = "b"\n')

    assert channels.remove(home, api) == "a"
    assert home.config.read_text() == '[channels]\n"/b" = "b"\n'


@pytest.mark.parametrize(
    "name", ["a b", "qu'o\"te", "co:lon", "new\nline", "ünï 漢", "x\x7fy", "#="]
)
def test_folders_of_any_name_can_be_registered(home: Home, api: Path, name: str) -> None:
    """And are read back as they are."""
    folder = api / name
    folder.mkdir()

    assert channels.add(home, folder, "odd")
    assert list(load(home.config).channels) == [f"~/src/api/{name}"]
    assert channels.find(home, folder).root == str(folder)
    assert channels.remove(home, folder) == "odd"


def test_a_name_that_is_no_text_cannot_be_registered(home: Home, api: Path) -> None:
    folder = api / os.fsdecode(b"raw\xff")
    folder.mkdir()

    assert _refused(home, folder).endswith("cannot stand in a configuration. Rename it.")


def test_a_linked_configuration_stays_a_link(home: Home, api: Path, tmp_path: Path) -> None:
    """Dotfile managers keep the file elsewhere."""
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "sm.toml").write_text("# mine\n")
    home.base.mkdir()
    home.config.symlink_to(tmp_path / "dotfiles" / "sm.toml")

    channels.add(home, api, "api")

    assert home.config.is_symlink()
    assert "api" in (tmp_path / "dotfiles" / "sm.toml").read_text()


def test_a_link_into_nowhere_is_not_followed(home: Home, api: Path, tmp_path: Path) -> None:
    """No folder is made where somebody meant another one."""
    home.base.mkdir()
    home.config.symlink_to(tmp_path / "nonexist" / "zz")

    assert f"the folder {tmp_path / 'nonexist'} is not there" in _refused(home, api)
    assert not (tmp_path / "nonexist").exists()


def test_a_folder_that_cannot_be_made_is_said(home: Home, api: Path) -> None:
    home.base.write_text("a file in its place")

    assert _refused(home, api) == (
        f"Cannot use {home.base}: File exists. Make it writable; nothing was changed."
    )


def test_a_name_the_ledger_remembers_is_told(home: Home, tmp_path: Path) -> None:
    """Two folders called alike: each has the name under which its handoffs are."""
    one, two = tmp_path / "one" / "api", tmp_path / "two" / "api"
    one.mkdir(parents=True)
    two.mkdir(parents=True)
    ledger = Ledger(home.channels)
    ledger.channel(Place(root=str(one), why=Why.FOLDER))

    assert channels.find(home, one).name == "api"
    second = channels.find(home, two)
    assert second.name.startswith("api-")
    assert ledger.channel(Place(root=str(two), why=Why.FOLDER)).name == second.name
    ledger.close()


def test_a_damaged_ledger_is_said(home: Home, api: Path) -> None:
    home.channels.mkdir(parents=True)
    (home.channels / "channels.db").write_bytes(b"x" * 5000)

    with pytest.raises(InstallError, match="is not a readable ledger"):
        channels.find(home, api)


def test_many_that_register_at_once_are_all_there(home: Home, api: Path) -> None:
    """None overwrites another's line."""
    call = (
        "import sys; from pathlib import Path; from sm.settings.home import Home;"
        "from sm.install import channels; h = Path(sys.argv[1]);"
        "channels.add(Home(h, h / 'config.toml', h, is_default=False), Path(sys.argv[2]), 'api')"
    )
    for number in range(8):
        (api / str(number)).mkdir()
    started = [
        subprocess.Popen([sys.executable, "-c", call, str(home.base), str(api / str(number))])
        for number in range(8)
    ]

    assert [process.wait(60) for process in started] == [0] * 8
    assert len(load(home.config).channels) == 8


def test_a_byte_order_mark_stays_where_it_is(home: Home, api: Path) -> None:
    """Also in front of the very table that is written to."""
    home.base.mkdir()
    home.config.write_bytes(b'\xef\xbb\xbf[channels]\n"/other" = "other"\n')
    channels.add(home, api, "api")

    written = b'\xef\xbb\xbf[channels]\n"/other" = "other"\n"~/src/api" = "api"\n'
    assert home.config.read_bytes() == written
