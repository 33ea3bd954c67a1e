"""sm handoff"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sm.api.types import HandoffView
from tests.cli.conftest import refusal, withdraw
from tests.kit.sm import Sm

SCHEDULED = "Handoff scheduled — will execute after current turn completes\n"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "handoff.md"
    path.write_text("# Goal\nthe shop\n")
    return path


def inside(sm: Sm, name: str = "bob") -> dict[str, str]:
    """What a session's own agent has in its environment."""
    session = sm.json("show", name)["id"]
    token = (sm.home.sessions / session / "token").read_text().strip()
    return {"CLAUDE_SESSION_MANAGER_ID": session, "SM_SESSION_TOKEN": token}


def refused(sm: Sm, *arguments: str, environment: dict[str, str] | None = None) -> tuple[int, str]:
    """Exit code and the one line of a handoff that is refused, from inside bob."""
    own = inside(sm) if environment is None else environment
    done = sm.start("handoff", *arguments, environment=own, timeout=20)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    return done.returncode, done.stderr.removeprefix("sm: ").rstrip("\n")


# --- scheduled -----------------------------------------------------------------------------


def test_a_handoff_is_scheduled_at_once(sm: Sm, document: Path) -> None:
    """bob's turn is not over: it waits, with a copy of the document."""
    assert sm.run("handoff", str(document), environment=inside(sm)) == SCHEDULED

    (*_, handoff) = sm.json("handoffs", "bob")
    assert (handoff["state"], handoff["source"]) == ("requested", str(document))
    withdraw(sm, handoff["id"])


def test_the_agent_is_told_of_secrets_that_were_taken_out(sm: Sm, document: Path) -> None:
    """Its own file stays as it is; the copy that is handed on holds none."""
    key = "AKIA" + "Z7Q4M2XW9K3LD5RB"
    document.write_text(f"# Goal\nthe shop, with {key}\n")

    said = sm.run("handoff", str(document), environment=inside(sm))

    assert said == SCHEDULED + (
        "1 secret was taken out of the document; its next reader finds [redacted:KIND] there\n"
    )
    (*_, handoff) = sm.json("handoffs", "bob")
    assert handoff["redacted"] == 1
    assert "[redacted:aws-access-key]" in Path(handoff["document"]).read_text()
    assert key in document.read_text()
    withdraw(sm, handoff["id"])


def test_a_relative_path_is_meant_from_here(sm: Sm, document: Path) -> None:
    done = sm.run("handoff", document.name, "--json", environment=inside(sm), cwd=document.parent)

    handoff = json.loads(done)
    assert list(handoff) == list(HandoffView.__annotations__)
    assert handoff["source"] == str(document)
    withdraw(sm, handoff["id"])


# --- refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "missing"),
    [
        ({}, "CLAUDE_SESSION_MANAGER_ID"),
        ({"SM_SESSION_TOKEN": "x"}, "CLAUDE_SESSION_MANAGER_ID"),
        ({"CLAUDE_SESSION_MANAGER_ID": "12345678"}, "SM_SESSION_TOKEN"),
    ],
    ids=["nothing", "no id", "no token"],
)
def test_outside_a_session_it_is_no_command(
    sm: Sm, document: Path, environment: dict[str, str], missing: str
) -> None:
    assert refused(sm, str(document), environment=environment) == (
        2,
        (
            f"{missing} is not set: sm handoff can only be called from within a session,"
            " by its own agent."
        ),
    )


def test_nobody_hands_another_one_over(sm: Sm, document: Path) -> None:
    own = {**inside(sm, "bob"), "SM_SESSION_TOKEN": inside(sm, "ada")["SM_SESSION_TOKEN"]}

    code, words = refused(sm, str(document), environment=own)

    assert code == 1
    assert words.startswith("sm handoff is self-directed only")


def test_a_session_that_is_not_there_is_refused(sm: Sm, document: Path) -> None:
    own = {**inside(sm), "CLAUDE_SESSION_MANAGER_ID": "ffffffff"}

    assert refused(sm, str(document), environment=own)[0] == 1


def test_a_missing_document_is_to_be_written_first(sm: Sm, tmp_path: Path) -> None:
    path = tmp_path / "nowhere.md"

    assert refused(sm, str(path)) == (1, f"File not found: {path}. Write the document first.")


def folder(path: Path) -> None:
    path.mkdir()


def empty(path: Path) -> None:
    path.write_text(" \n")


def too_large(path: Path) -> None:
    path.write_text("x" * 5_000_000)


def fifo(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("make", [folder, empty, too_large, fifo])
def test_what_is_no_document_is_refused(
    sm: Sm, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """Clearly, at once, and nothing is scheduled."""
    path = tmp_path / "handoff.md"
    make(path)

    code, words = refused(sm, str(path))

    assert code == 1
    assert str(path) in words
    assert not any(h["state"] == "requested" for h in sm.json("handoffs", "bob"))


def test_an_outline_nobody_filled_in_is_refused(sm: Sm, tmp_path: Path) -> None:
    """It would be all the next context has."""
    path = tmp_path / "handoff.md"
    path.write_text(sm.run("handoff", "--template"))

    assert refused(sm, str(path)) == (
        1,
        "The document says nothing: only the outline is there. Fill it in first.",
    )


def test_a_document_of_headings_alone_is_somebodys_words(sm: Sm, tmp_path: Path) -> None:
    path = tmp_path / "handoff.md"
    path.write_text("# Goal: ship the parser\n# Next: test it\n")

    asked = sm.json("handoff", str(path), environment=inside(sm))
    withdraw(sm, asked["id"])

    assert asked["state"] == "requested"


def test_the_document_may_come_by_standard_input(sm: Sm) -> None:
    asked = sm.json("handoff", "-", environment=inside(sm), input="# Goal\nthe shop\n")
    withdraw(sm, asked["id"])

    assert asked["source"] == "-"
    assert Path(asked["document"]).read_text() == "# Goal\nthe shop\n"


def test_a_name_that_cannot_be_told_is_refused(sm: Sm, tmp_path: Path) -> None:
    """No prompt could name it either."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/M\xfcll.md")
    Path(path).write_text("# Goal\nthe shop\n")

    assert refused(sm, path) == (
        1,
        f"The name {tmp_path}/M\ufffdll.md is not valid UTF-8. Copy the document to another name.",
    )
    assert refused(sm, "x" * 5000)[0] == 1


def test_a_document_must_be_named(sm: Sm) -> None:
    done = sm.start("handoff", environment=inside(sm))

    assert (done.returncode, done.stderr) == (
        2,
        "sm: name the document: sm handoff FILE (see sm handoff --template)\n",
    )


# --- help for the agent --------------------------------------------------------------------


def test_a_template_needs_no_session(sm: Sm) -> None:
    template = sm.run("handoff", "--template")

    assert "Goal" in template
    assert "Next actions" in template


def test_a_document_can_be_checked_first(sm: Sm, document: Path) -> None:
    """Findings are exit 1, one to a line; nothing is scheduled, no session is needed."""
    done = sm.start("handoff", "--check", str(document))

    assert (done.returncode, done.stderr) == (1, "")
    assert all(line.split(":")[0] in ("missing", "warning") for line in done.stdout.splitlines())
    found = json.loads(sm.start("handoff", "--check", "--json", str(document)).stdout)
    assert [f"{f['level']}: {f['words']}" for f in found] == done.stdout.splitlines()


def test_a_missing_document_cannot_be_checked(sm: Sm, tmp_path: Path) -> None:
    assert refusal(sm, "handoff", "--check", "/nowhere.md") == (
        1,
        "/nowhere.md cannot be read: No such file or directory.",
    )
    assert refusal(sm, "handoff", "--check", str(tmp_path))[0] == 1


def test_a_check_never_waits_for_a_pipe(sm: Sm, tmp_path: Path) -> None:
    fifo(tmp_path / "pipe")

    done = sm.start("handoff", "--check", str(tmp_path / "pipe"), timeout=20)

    assert (done.returncode, done.stderr) == (
        1,
        f"sm: {tmp_path / 'pipe'} cannot be read: it is not a file.\n",
    )
