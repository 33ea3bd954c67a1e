"""sm completion, in the shells themselves."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sm.cli.main import COMMANDS
from tests.kit.sm import Sm

CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


def _needs(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def _script(sm: Sm, shell: str) -> Path:
    file = sm.folder / f"sm.{shell}"
    file.write_text(sm.run("completion", shell))
    return file


def _ask(sm: Sm, *argv: str | Path) -> list[str]:
    done = subprocess.run(
        [str(a) for a in argv], env=sm.environment, capture_output=True, text=True, cwd=sm.work
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_its_shell_can_read(sm: Sm, shell: str) -> None:
    """And every command is in it."""
    _needs(shell)
    script = _script(sm, shell)

    assert _ask(sm, *CHECKS[shell], script) == []
    assert all(name in script.read_text() for name in COMMANDS)


BASH = """
source "$1"
COMP_WORDS=(sm ${@:2})
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_sm_with_names
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_bash_completes_commands_options_and_names(sm: Sm) -> None:
    """Names are asked of sm itself."""
    script = _script(sm, "bash")

    assert {"send", "show"} <= set(_ask(sm, "bash", "-c", BASH, "-", script, "s"))
    assert "--important" in _ask(sm, "bash", "-c", BASH, "-", script, "send", "--im")
    assert _ask(sm, "bash", "-c", BASH, "-", script, "show", "ad") == ["ada"]


def test_bash_completes_folders_and_what_can_be_done_with_them(sm: Sm) -> None:
    """Where a folder is meant; the actions only as the first word."""
    script = _script(sm, "bash")
    (sm.work / "address-book").mkdir()

    first = set(_ask(sm, "bash", "-c", BASH, "-", script, "channel", "add"))
    assert {"add", "address-book"} <= first
    assert _ask(sm, "bash", "-c", BASH, "-", script, "channel", "add", "add") == ["address-book"]
    assert _ask(sm, "bash", "-c", BASH, "-", script, "channel", "re") == ["remove"]


def test_fish_completes_folders_and_what_can_be_done_with_them(sm: Sm) -> None:
    _needs("fish")
    ask = 'source $argv[1]; complete --do-complete "$argv[2]"'
    script = _script(sm, "fish")
    (sm.work / "addresses").mkdir()

    assert {"add", "addresses/"} <= set(_ask(sm, "fish", "-c", ask, script, "sm channel ad"))
    assert "addresses/" in _ask(sm, "fish", "-c", ask, script, "sm new --cwd ad")
    assert "ada" in _ask(sm, "fish", "-c", ask, script, "sm show ad")


def test_zsh_offers_folders_and_what_can_be_done_with_them(sm: Sm) -> None:
    _needs("zsh")
    script = _script(sm, "zsh").read_text()

    assert ":_sm_channel" in script
    assert ":_files -/" in script
    assert "(add remove)" in script


def test_fish_completes_commands_options_and_names(sm: Sm) -> None:
    """Names are asked of sm itself."""
    _needs("fish")
    ask = 'source $argv[1]; complete --do-complete "$argv[2]"'
    script = _script(sm, "fish")

    assert {"send", "show"} <= set(_ask(sm, "fish", "-c", ask, script, "sm s"))
    assert "--important" in _ask(sm, "fish", "-c", ask, script, "sm send --im")
    assert "ada" in _ask(sm, "fish", "-c", ask, script, "sm show a")


def test_zsh_asks_sm_for_names(sm: Sm) -> None:
    """The function that gives them, with zsh's own "add" replaced by one that prints."""
    _needs("zsh")
    script = _script(sm, "zsh").read_text()
    function = script[script.index("_sm_names() {") :]
    function = function[: function.index("\n}") + 2]
    shown = 'compadd() { print -l "${(@P)2}" }\n' + function + "\n_sm_names"

    assert {"ada", "bob"} <= set(_ask(sm, "zsh", "-f", "-c", shown))
    assert ":_sm_names" in script


def test_a_shell_we_do_not_know_is_wrong_usage(sm: Sm) -> None:
    """Exit 2, with those there are."""
    done = sm.start("completion", "csh")

    assert done.returncode == 2
    assert "choose from" in done.stderr
