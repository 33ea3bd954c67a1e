"""The launcher as a pane runs it: a script of its own, with one file to read."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import sm

LAUNCH = Path(sm.__file__).parent / "adapters" / "agents" / "launch.py"
TELL = """
import json, os, sys
mask = os.umask(0)
print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "umask": mask, **os.environ}))
"""


def _launch(
    tmp_path: Path, launch: object, pane: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    file = tmp_path / "launch.json"
    file.write_text(launch if isinstance(launch, str) else json.dumps(launch))
    return subprocess.run(
        [sys.executable, "-I", "-S", str(LAUNCH), str(file)],
        env=pane or {},
        capture_output=True,
        text=True,
        cwd="/",
        umask=0o077,
    )


def _told(tmp_path: Path, *, pane: dict[str, str] | None = None, **environment: str) -> Any:
    """What the agent finds around it."""
    launch = {
        "argv": [sys.executable, "-I", "-c", TELL, "--flag", "a b; c"],
        "environment": environment,
        "cwd": str(tmp_path),
    }
    done = _launch(tmp_path, launch, pane)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_the_agent_runs_in_the_callers_directory_and_environment(tmp_path: Path) -> None:
    """Nothing of the daemon's own environment reaches it."""
    told = _told(tmp_path, pane={"SECRET_OF_THE_DAEMON": "x"}, PLACE="here")

    assert told["cwd"] == str(tmp_path)
    assert told["PLACE"] == "here"
    assert "SECRET_OF_THE_DAEMON" not in told


def test_arguments_arrive_word_for_word(tmp_path: Path) -> None:
    """No shell looks at them."""
    assert _told(tmp_path)["argv"] == ["--flag", "a b; c"]


def test_the_pane_knows_best_what_terminal_it_is(tmp_path: Path) -> None:
    """TERM and TMUX are the pane's, not those of the terminal `sm new` was typed in."""
    pane = {"TERM": "tmux-256color", "TMUX": "/tmp/x,1,2", "TMUX_PANE": "%3"}

    told = _told(tmp_path, pane=pane, TERM="dumb", COLORTERM="truecolor")

    assert {k: told[k] for k in pane} == pane
    assert told["COLORTERM"] == "truecolor"


def test_the_agents_files_are_as_open_as_the_callers(tmp_path: Path) -> None:
    """The daemon closes its own files to others; that must not rub off on the agent's work."""
    told = _told(tmp_path, SM_UMASK="027")

    assert told["umask"] == 0o027
    assert "SM_UMASK" not in told
    assert _told(tmp_path)["umask"] == 0o022


def test_a_program_that_is_gone_is_told_with_status_127(tmp_path: Path) -> None:
    """The pane's last words say why nothing runs."""
    launch = {"argv": ["/nowhere/agent"], "environment": {}, "cwd": str(tmp_path)}

    done = _launch(tmp_path, launch)

    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == (
        "sm could not start the agent: [Errno 2] No such file or directory: '/nowhere/agent'\n"
    )


def test_a_directory_that_is_gone_is_told_with_status_127(tmp_path: Path) -> None:
    """It was there when the session was asked for."""
    launch = {"argv": [sys.executable], "environment": {}, "cwd": str(tmp_path / "gone")}

    done = _launch(tmp_path, launch)

    assert done.returncode == 127
    assert done.stderr == (
        "sm could not start the agent: "
        f"[Errno 2] No such file or directory: '{tmp_path / 'gone'}'\n"
    )


def test_an_unreadable_launch_file_is_told_with_status_127(tmp_path: Path) -> None:
    """Torn, without what is needed, or with values no process can have: never a traceback."""
    impossible = {"argv": [sys.executable], "environment": {"A": "\0"}, "cwd": "/"}
    for launch in ("", '{"argv": [', {}, impossible):
        done = _launch(tmp_path, launch)

        assert done.returncode == 127
        assert done.stderr.startswith("sm could not start the agent: ")
        assert done.stderr.count("\n") == 1


def test_an_environment_that_is_not_kept_is_gone_once_the_agent_has_it(tmp_path: Path) -> None:
    """Nobody finds it beside a running agent."""
    launch = {"argv": ["/bin/true"], "environment": {"KEY": "secret"}, "cwd": "/", "once": True}

    assert _launch(tmp_path, launch).returncode == 0

    assert list(tmp_path.iterdir()) == []
