"""What the demo draws, where there is no terminal."""

import re

import pytest

from sm.cli.stage import Stage

FIGURES: dict[str, object] = {
    "messages": 19, "arrived_once": 18, "lost": 1, "doubled": 0, "daemon_kills": 2, "handoffs": 1,
    "recoveries": 3, "seconds": 9.5,
}  # fmt: skip


def test_without_a_terminal_the_story_is_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """What happens, then what was seen."""
    with Stage() as stage, stage.act("Starting two agents"):
        stage.line("ada is up")
        stage.tick({"ada": ["screen"]})

    assert capsys.readouterr().out == "Starting two agents\n    ada is up\n"
    assert stage.is_live is False


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """For --json."""
    with Stage(quiet=True) as stage, stage.act("Starting"):
        stage.line("ada is up")
    stage.summary(FIGURES, kept=None)

    assert capsys.readouterr().out == ""


def test_the_summary_shows_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    """And what to do next."""
    with Stage() as stage:
        stage.summary(FIGURES, kept="/tmp/x")
        stage.summary(FIGURES, kept=None)
    shown = capsys.readouterr().out

    rows = dict(re.findall(r"│ ([a-z -]+\w[\d]?) +│ +([\d.]+) │", shown))
    assert list(rows.values()) == ["19", "18", "1", "0", "2", "1", "3", "9.5"]
    assert "Look around with: SM_HOME=/tmp/x sm ls\n" in shown
    assert "All cleaned up. Now yours: sm new ada --agent demo --attach\n" in shown
