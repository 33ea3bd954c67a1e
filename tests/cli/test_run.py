"""sm run, up to where it becomes the wrapper; what that does is in tests/wrapper."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sm.cli.main import main


class _BecameError(Exception):
    """The process would be another program now."""


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command line it becomes."""
    lines: list[list[str]] = []

    def execv(_: str, line: list[str]) -> None:
        # What the wrapper would read.
        os.lseek(int(line[-1]), 0, os.SEEK_SET)
        asked = os.read(int(line[-1]), 1_000_000).decode()
        lines.append([*line[:-1], asked])
        raise _BecameError

    monkeypatch.setattr(os, "execv", execv)
    return lines


def _request(became: list[list[str]], *arguments: str) -> dict[str, Any]:
    with pytest.raises(_BecameError):
        main(["run", *arguments])
    *line, request = became.pop()
    assert line == [sys.executable, "-I", "-m", "sm.wrapper"]
    asked: dict[str, Any] = json.loads(request)
    return asked


def test_it_becomes_the_wrapper(became: list[list[str]]) -> None:
    """The shell that started it has one process, and the agent's exit code."""
    asked = _request(became, "--", "claude", "--model", "opus", "migrate the tests")

    assert asked["agent"] == "claude"
    assert asked["arguments"] == ["--model", "opus", "migrate the tests"]
    assert asked["cwd"] == str(Path.cwd())
    assert asked["name"] == f"claude-{asked['id'][:4]}"
    assert (asked["channel"], asked["max_restarts"]) == (None, None)


def test_options_before_the_dashes_are_ours(became: list[list[str]]) -> None:
    asked = _request(
        became, "--name", "ada", "--channel", "api", "--max-restarts", "3",
        "--agent", "demo", "--", "--name", "hers", "--", "-x",
    )  # fmt: skip

    assert (asked["name"], asked["channel"], asked["max_restarts"]) == ("ada", "api", 3)
    assert (asked["agent"], asked["arguments"]) == ("demo", ["--name", "hers", "--", "-x"])


def test_the_dashes_may_be_left_out(became: list[list[str]]) -> None:
    asked = _request(became, "--name", "ada", "claude", "--model", "opus", "go")

    assert (asked["agent"], asked["arguments"]) == ("claude", ["--model", "opus", "go"])


def test_each_run_has_an_id_of_its_own(became: list[list[str]]) -> None:
    first, second = (_request(became, "--", "demo")["id"] for _ in range(2))

    assert first != second


@pytest.mark.parametrize("arguments", [(), ("--",), ("--name", "ada")])
def test_an_agent_must_be_named(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    assert capsys.readouterr().err == "sm: name the agent to run: sm run -- claude\n"


def test_a_wrapper_that_cannot_be_started_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def execv(_: str, __: list[str]) -> None:
        raise OSError(7, "Argument list too long")

    monkeypatch.setattr(os, "execv", execv)

    assert main(["run", "--", "demo"]) == 1
    assert "Argument list too long" in capsys.readouterr().err
