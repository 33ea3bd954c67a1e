"""One home for all commands: a daemon, and a few sessions nobody may change for good.

ada is idle; bob is her child, with a dialog open and a message waiting; gone has ended.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.sm import SM, Sm, sm_home


@pytest.fixture(scope="session")
def sm() -> Iterator[Sm]:
    with sm_home() as made:
        made.new_demo("ada")
        made.run("send", "ada", "hello", "--wait", "20")
        made.run("new", "bob", "--parent", "ada", "--", "--delay", "0")
        made.run("send", "bob", "%ask touch x", "--wait", "20", "--no-notify")
        made.wait_state("bob", "waiting")
        made.run("send", "bob", "are you there?")
        made.run("new", "gone", "--agent", "cat")
        made.run("kill", "gone")
        made.run("wait", "ada")
        yield made


def withdraw(sm: Sm, handoff: str) -> None:
    """Take a handoff of bob's back, and the word he is to be told of it."""
    sm.start("handoffs", "cancel", handoff)
    for message in sm.messages("bob", "--state", "queued"):
        if "was not carried out" in message["text"]:
            sm.run("cancel", message["id"])


_SHAPES = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
    (r"\d\d:\d\d:\d\d\.\d{3}", "TIME"),
    (r"\bHO-\d{8}-\d{6}-[0-9a-f]{8}\b", "HANDOFF"),
    (r"\b[0-9a-f]{12}\b", "MESSAGE"),
    (r"\b[0-9a-f]{8}\b", "ID"),
    (r"\b\d+(\.\d)?[smhd]\b", "AGE"),
    (r" {2,}", " "),
)


def shape(sm: Sm, output: str) -> str:
    """A whole output with what differs from run to run replaced by its kind."""
    output = output.replace(str(sm.folder), "HERE")
    for pattern, word in _SHAPES:
        output = re.sub(pattern, word, output)
    return output


ORDERS = "\x1b[2Jgone\a"
"""What would clear the terminal of whoever reads it."""


def refusal(sm: Sm, *arguments: str) -> tuple[int, str]:
    """Exit code and the one line of a command that is to fail, after checking it said no more."""
    done = sm.start(*arguments)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("sm: ")
    return done.returncode, done.stderr.removeprefix("sm: ").rstrip("\n")


FULL = "sm: The output could not be written: No space left on device."


def start_full(
    sm: Sm, *arguments: str, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """A command whose output goes onto a full disk."""
    with Path("/dev/full").open("w") as full:
        return subprocess.run(
            [SM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, cwd=sm.work,
            env={**sm.environment, **(environment or {})},
        )  # fmt: skip
