"""sm channel"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.settings.config import CHANNEL_RULE
from tests.cli.conftest import refusal
from tests.kit.sm import SM, Sm, sm_home


@pytest.fixture
def own() -> Iterator[Sm]:
    """A home whose configuration may be changed; no daemon is ever started in it."""
    with sm_home() as made:
        yield made
        assert not made.home.state.exists()


@pytest.fixture
def clone(own: Sm) -> Path:
    made = own.work / "shop"
    (made / "src").mkdir(parents=True)
    (made / ".git").mkdir()
    (made / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return made


def test_the_channel_of_a_folder_is_told_with_the_reason(own: Sm, clone: Path) -> None:
    """This folder's, or that of the one named; no file is made for it."""
    assert own.run("channel") == (
        f"work: {own.work} stands for itself: it is not registered, and in no git work tree.\n"
    )
    git = f"shop: {clone} is the root of its git work tree.\n"
    assert own.run("channel", "shop/src") == git
    assert own.run("channel", cwd=clone / "src") == git
    assert not own.base.exists()


def test_a_registered_folder_is_told(own: Sm, clone: Path) -> None:
    """Until it is taken out again."""
    assert own.run("channel", "add", "shop", "api") == f"{clone} belongs to the channel api now.\n"
    assert own.run("channel", "add", "./shop/", "api") == f"{clone} is already registered as api.\n"
    assert own.run("channel", "shop/src") == (
        f"api: {clone} is registered under this name in {own.home.config}.\n"
    )
    place = clone.relative_to(own.folder)
    assert own.home.config.read_text() == f'[channels]\n"~/{place}" = "api"\n'
    assert own.run("channel", "remove", "shop") == f"{clone} is no longer registered as api.\n"
    assert own.run("channel", "shop").startswith("shop: ")


def test_json_tells_the_same(own: Sm, clone: Path) -> None:
    changed = {"channel": "api", "directory": str(clone), "config": str(own.home.config)}

    assert own.json("channel", "shop/src") == {
        "channel": "shop", "directory": str(clone / "src"), "root": str(clone), "why": "git",
    }  # fmt: skip
    assert own.json("channel", "add", "shop", "api") == {**changed, "changed": True}
    assert own.json("channel", "add", "shop", "api") == {**changed, "changed": False}
    assert own.json("channel", "shop")["why"] == "registered"
    assert own.json("channel", "remove", "shop") == {**changed, "changed": True}
    assert own.json("channel") == {
        "channel": "work", "directory": str(own.work), "root": str(own.work), "why": "folder",
    }  # fmt: skip


def test_what_cannot_be_is_refused(own: Sm, clone: Path) -> None:
    """In one line; nothing is written."""
    assert refusal(own, "channel", "add", "shop", "../../x") == (
        1,
        f"'../../x' cannot be a channel's name. It must be {CHANNEL_RULE}.",
    )
    gone = own.work / "gone"
    words = f"{gone} does not exist. Name a folder."
    assert refusal(own, "channel", "gone") == refusal(own, "channel", "add", "gone", "x")
    assert refusal(own, "channel", "gone") == (1, words)
    (own.work / "file").touch()
    words = f"{own.work / 'file'} is not a folder. Name a folder."
    assert refusal(own, "channel", "file") == (1, words)
    assert not own.home.config.exists()


def test_a_second_name_is_refused(own: Sm, clone: Path) -> None:
    own.run("channel", "add", "shop", "api")

    code, words = refusal(own, "channel", "add", "shop", "web")

    assert code == 1
    assert words == (
        f"{clone} is already registered as api in {own.home.config}. "
        f"Take it out first: sm channel remove {clone}"
    )


def test_a_broken_configuration_is_named(own: Sm) -> None:
    own.base.mkdir()
    own.home.config.write_text("[tmux]\nsoket = 1\n")
    words = f"{own.home.config}: unknown key tmux.soket. See the configuration reference for what"

    for arguments in ((), ("add", ".", "x"), ("remove", ".")):
        code, said = refusal(own, "channel", *arguments)
        assert (code, said.startswith(words)) == (1, True)


@pytest.mark.parametrize(
    "arguments", [("add",), ("add", "x"), ("remove",), ("remove", "x", "y"), ("x", "y")]
)
def test_wrong_usage_is_said(own: Sm, arguments: tuple[str, ...]) -> None:
    assert refusal(own, "channel", *arguments) == (
        2,
        "give one folder, or: add DIR NAME, or: remove DIR. See: sm channel --help",
    )


def test_folders_of_any_name_are_shown_on_one_line(own: Sm) -> None:
    """A folder called add is written ./add."""
    odd = own.work / "two\nlines"
    odd.mkdir()
    (own.work / "add").mkdir()

    assert own.run("channel", "two\nlines").startswith(f"two-lines: {str(odd)!a} stands")
    assert own.json("channel", "two\nlines")["root"] == str(odd)
    assert own.run("channel", "add", "two\nlines", "odd").count("\n") == 1
    assert own.run("channel", "./add").startswith("add: ")


def test_a_folder_that_was_deleted_is_said(own: Sm) -> None:
    """By whoever stands in it."""
    gone = own.work / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f'rmdir "$PWD"; exec {SM} channel'],
        cwd=gone,
        env=own.environment,
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (
        1,
        "sm: This folder was deleted. Name another one.\n",
    )
