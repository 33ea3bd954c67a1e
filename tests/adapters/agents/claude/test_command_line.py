"""What a person gave to Claude Code, where it meets what sm adds."""

import json
import os
import uuid
from pathlib import Path

import pytest

from sm.adapters.agents.claude.command_line import afresh, read
from sm.core.launch import LaunchFailedError


def test_a_new_conversation_gets_an_id_from_us() -> None:
    asked = read(("--model", "opus", "hello"), "/")

    assert (asked.arguments, asked.is_own_id) == (("--model", "opus", "hello"), True)
    assert uuid.UUID(asked.context).version == 4


@pytest.mark.parametrize("given", [("--session-id", "c1"), ("--session-id=c1",)])
def test_an_id_of_the_persons_choice_is_kept(given: tuple[str, ...]) -> None:
    asked = read(given, "/")

    assert (asked.context, asked.is_own_id) == ("c1", False)
    assert asked.arguments == ("--session-id", "c1")


@pytest.mark.parametrize("option", ["--resume", "-r", "-rc0", "--resume=c0", "--continue", "-c"])
def test_a_resumed_conversation_keeps_its_own_id(option: str) -> None:
    """The client takes no other beside it, and tells it when it starts."""
    asked = read((option,), "/")

    assert (asked.context, asked.is_own_id) == (None, False)


def test_a_fork_of_a_conversation_gets_a_new_id() -> None:
    asked = read(("--resume", "c0", "--fork-session"), "/")

    assert asked.is_own_id
    assert asked.context not in (None, "c0")


@pytest.mark.parametrize("form", ["file", "equals", "json"])
def test_the_persons_own_settings_are_taken_out_to_be_merged(tmp_path: Path, form: str) -> None:
    """The client would take only the last of two --settings."""
    own = {"model": "opus"}
    (tmp_path / "own.json").write_text(json.dumps(own))
    given = {
        "file": ("--settings", "own.json"),
        "equals": (f"--settings={tmp_path / 'own.json'}",),
        "json": ("--settings", json.dumps(own)),
    }[form]

    asked = read(("-v", *given, "hello"), str(tmp_path))

    assert (asked.settings, asked.arguments) == (own, ("-v", "hello"))


@pytest.mark.parametrize("given", ["none.json", "{", "list.json", ""])
def test_settings_that_cannot_be_read_are_refused_with_what_to_do(
    tmp_path: Path, given: str
) -> None:
    (tmp_path / "list.json").write_text("[]")

    with pytest.raises(LaunchFailedError, match="--settings"):
        read(("--settings", given), str(tmp_path))


def test_settings_that_are_no_ordinary_file_are_refused(tmp_path: Path) -> None:
    """A pipe or a device could keep the daemon waiting for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for path in (pipe, tmp_path, Path("/dev/zero")):
        with pytest.raises(LaunchFailedError, match="no ordinary file"):
            read(("--settings", str(path)), str(tmp_path))


def test_settings_beyond_any_measure_are_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(b" " * 1_000_001)

    with pytest.raises(LaunchFailedError, match="more than 1000000 bytes"):
        read(("--settings", "large.json"), str(tmp_path))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ((), ()),
        (("do it",), ()),
        (("--model", "opus", "do it"), ("--model", "opus")),
        (("--model=opus", "do it"), ("--model=opus",)),
        (("--verbose", "do it"), ("--verbose",)),
        (("do it", "--verbose", "--model", "opus"), ("--verbose", "--model", "opus")),
        (("--add-dir", "a", "b", "--", "do it"), ("--add-dir", "a", "b")),
        (("--allowedTools", "Bash(git:*)", "Read", "--verbose", "do it"),
         ("--allowedTools", "Bash(git:*)", "Read", "--verbose")),
        (("--settings", "{}", "do it"), ("--settings", "{}")),
        (("--dangerously-skip-permissions", "do it"), ("--dangerously-skip-permissions",)),
    ],
)  # fmt: skip
def test_a_new_context_keeps_the_options_and_not_the_prompt(
    given: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    assert afresh(given) == kept


@pytest.mark.parametrize(
    "given",
    [
        ("--continue",), ("-c", "do it"), ("--resume",), ("--resume", "c0"), ("--resume=c0",),
        ("-r", "c0", "do it"), ("-rc0",), ("--session-id", "c0"), ("--session-id=c0", "do it"),
        ("--resume", "c0", "--fork-session"), ("--from-pr", "12"),
    ],
)  # fmt: skip
def test_a_new_context_resumes_no_older_one(given: tuple[str, ...]) -> None:
    """It would be full again at once."""
    assert afresh((*given, "--verbose")) == ("--verbose",)


def test_what_stands_behind_two_dashes_is_a_prompt() -> None:
    """Also when it looks like an option."""
    assert afresh(("--verbose", "--", "-n is what I mean", "--model")) == ("--verbose",)


def test_a_context_made_afresh_twice_is_the_same() -> None:
    once = afresh(("--add-dir", "a", "b", "--model", "opus", "-c", "do it"))

    assert afresh(once) == once == ("--add-dir", "a", "b", "--model", "opus")
