"""The file in which the demo agent says what it is doing."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sm.adapters.agents.demo.status import Status


def file_in(config: Path) -> Path:
    return config / "sessions" / f"{os.getpid()}.json"


def said_in(config: Path) -> dict[str, Any]:
    return dict(json.loads(file_in(config).read_text()))


def test_it_says_who_it_is_and_what_it_does(tmp_path: Path) -> None:
    """Anyone who knows the process finds its name, folder, conversation and state."""
    before = int(time.time() * 1000)
    status = Status(tmp_path, name="ada", cwd="/home")
    assert not file_in(tmp_path).exists()

    status.tell("s1", "busy")

    said = said_in(tmp_path)
    assert before <= said["startedAt"] <= said["statusUpdatedAt"] <= time.time() * 1000
    known = {"pid": os.getpid(), "name": "ada", "cwd": "/home", "sessionId": "s1"}
    assert said.items() >= {**known, "status": "busy", "kind": "interactive"}.items()


def test_it_says_what_it_waits_for_only_while_it_waits(tmp_path: Path) -> None:
    """An answered dialog is no longer mentioned."""
    status = Status(tmp_path, name="ada", cwd="/")
    status.tell("s1", "waiting", "permission prompt")
    assert said_in(tmp_path)["waitingFor"] == "permission prompt"

    status.tell("s1", "idle")

    assert said_in(tmp_path)["status"] == "idle"
    assert "waitingFor" not in said_in(tmp_path)


def test_the_file_is_replaced_only_when_something_changed(tmp_path: Path) -> None:
    """Whoever watches the file is not woken for nothing, and never reads half of it."""
    status = Status(tmp_path, name="ada", cwd="/")
    status.tell("s1", "idle")
    first = file_in(tmp_path).stat()

    status.tell("s1", "idle")
    assert file_in(tmp_path).stat() == first

    with file_in(tmp_path).open() as being_read:
        status.tell("s2", "idle")
        assert json.load(being_read)["sessionId"] == "s1"
    assert said_in(tmp_path)["sessionId"] == "s2"
    assert [path.name for path in file_in(tmp_path).parent.iterdir()] == [f"{os.getpid()}.json"]


def test_it_takes_its_file_away_when_it_leaves(tmp_path: Path) -> None:
    """After a proper end nothing claims to run; leaving twice is no error."""
    status = Status(tmp_path, name="ada", cwd="/")
    status.tell("s1", "idle")

    status.remove()
    status.remove()

    assert not file_in(tmp_path).exists()


@pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="this system has no /proc")
def test_the_time_of_start_is_right_whatever_the_program_is_called(tmp_path: Path) -> None:
    """A program's name may hold spaces and brackets; its start is still the system's own."""
    code = (
        "import sys; from pathlib import Path; from sm.adapters.agents.demo.status import Status;"
        "print(Path('/proc/self/stat').read_text().split()[21]);"
        "Path('/proc/self/comm').write_text('a) b (c) d');"
        "Status(Path(sys.argv[1]), name='ada', cwd='/').tell('s1', 'idle')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )

    (file,) = tmp_path.glob("sessions/*.json")
    assert json.loads(file.read_text())["procStart"] == done.stdout.strip()
