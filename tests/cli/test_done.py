"""What stays done when its report cannot be written."""

import os
import re
import signal
import subprocess

from sm.cli import done
from tests.cli.conftest import FULL, start_full
from tests.kit.sm import SM, Sm, sm_home


def test_what_was_noted_is_told_once() -> None:
    """The next command in the same process has done nothing yet."""
    done.note("One is stored.")
    done.note("Two is stored.")

    assert (done.take(), done.take()) == ("One is stored. Two is stored.", "")


DOING = {
    "send eve hello": "message ID for eve is stored.",
    "send eve hello --json": "message ID for eve is stored.",
    "remind eve x --in 1h": "reminder ID for eve is stored.",
    "snapshot eve": "the snapshot .*/ID/.* is kept.",
    "context eve --off": "the monitor of eve is off.",
    "rename eve eva": "ID is now eva.",
    "kill eva": "eva ended.",
    "recover killed --json": "killed .ID. is being brought back.",
    "notices --clear": r"\d+ put away.",
    "channel add . here": ".*/work belongs to the channel here now.",
    "channel remove .": ".*/work is no longer registered as here.",
    "daemon stop": "the daemon has stopped.",
    "install --json": ".*/settings.json is changed.",
    "uninstall --yes --json": ".*/settings.json is changed.",
}


def test_what_was_done_is_told_when_the_output_cannot_be_written() -> None:
    """Exit 3, with the id: whoever tries again would do it twice."""
    with sm_home() as sm:
        told = start_full(sm, "new", "eve")
        session = sm.json("show", "eve")["id"]
        assert (told.returncode, told.stderr) == (
            3, f"{FULL} It was done all the same: session {session} (eve) is started.\n",
        )  # fmt: skip
        sm.run("wait", "eve")
        sm.run("new", "killed", "--agent", "sleep 1000")
        os.kill(sm.json("show", "killed")["pid"], signal.SIGKILL)
        sm.wait_state("killed", "crashed")
        for line, words in DOING.items():
            told = start_full(sm, *line.split(), environment={"PYTHONUNBUFFERED": "1"})
            words = words.replace("ID", r"[\w-]+")
            expected = f"{re.escape(FULL)} It was done all the same: {words}\n"
            assert re.fullmatch(expected, told.stderr), (line, told.stderr)
            assert told.returncode == 3


def test_what_was_done_is_told_by_the_exit_code_alone(sm: Sm) -> None:
    """Where standard error is full as well."""
    line = f"'{SM}' send bob 'nobody can read this' >/dev/full 2>/dev/full"
    told = subprocess.run(["sh", "-c", line], env=sm.environment)
    stored = [m["id"] for m in sm.messages("bob") if m["text"] == "nobody can read this"]
    sm.run("cancel", *stored)

    assert (told.returncode, len(stored)) == (3, 1)
