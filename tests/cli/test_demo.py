"""sm demo, told whole."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.sm import Sm, sm_home


@pytest.fixture
def own() -> Iterator[Sm]:
    """A place whose temporary files can be counted."""
    with sm_home() as made:
        (made.folder / "t").mkdir()
        yield made


def test_the_whole_story_loses_nothing_and_cleans_up(own: Sm) -> None:
    """Every message arrived once although the daemon was killed; no file, no process is left."""
    done = own.start("demo", "--json", environment={"TMPDIR": str(own.folder / "t")})

    assert (done.returncode, done.stderr) == (0, "")
    figures = json.loads(done.stdout)
    assert figures.pop("seconds") < 60
    assert figures["daemon_kills"] == 2
    assert (figures["handoffs"], figures["recoveries"]) == (1, 3)
    assert (figures["lost"], figures["doubled"]) == (0, 0)
    assert figures["arrived_once"] == figures["messages"] >= 19
    assert list((own.folder / "t").iterdir()) == []
    assert not own.home.state.exists()
    assert _processes_in(own.folder / "t") == []


def _processes_in(folder: Path) -> list[str]:
    listed = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if str(folder) in line]


def test_without_tmux_it_says_what_to_install(own: Sm) -> None:
    """Before anything is begun."""
    empty = own.folder / "empty"
    empty.mkdir()
    assert shutil.which("tmux", path=str(empty)) is None

    done = own.start("demo", environment={"PATH": str(empty)})

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sm: tmux is not installed. On Debian or Ubuntu: apt install tmux\n"
