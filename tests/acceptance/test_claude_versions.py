"""Claude Code missing, old or different: a clear message, no crash, and the rest goes on."""

from pathlib import Path

import pytest

from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ladder import THINK, desk

pytestmark = pytest.mark.claude


def findings(sm: Sm, about: str) -> list[str]:
    return [f["says"] for f in sm.json("doctor") if f["what"] == about]


def test_a_missing_client_is_told_with_what_to_do(sm: Sm, tmp_path: Path) -> None:
    refused = sm.start("new", "ada", "--agent", "claude", environment={"PATH": str(tmp_path)})

    assert refused.returncode == 1
    assert "claude is not on your PATH. Install Claude Code" in refused.stderr


def test_a_client_that_does_not_know_our_options_is_shown_as_crashed(sm: Sm) -> None:
    """A very old one refuses --session-id: its own words are there to read."""
    old = sm.folder / "bin" / "claude"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho \"error: unknown option '--session-id'\"; exit 1\n")
    old.chmod(0o755)
    path = {"PATH": f"{old.parent}:{sm.environment['PATH']}"}

    sm.start("new", "ada", "--agent", "claude", environment=path)
    sm.wait_state("ada", "crashed")

    assert "unknown option '--session-id'" in sm.run("log", "ada")


def test_a_client_without_a_title_is_still_told_things(sm: Sm) -> None:
    """Its screen no longer says whether it is busy; its own word does."""
    with desk(sm) as ada:
        settings = ada.home.config / "settings.json"
        settings.write_text('{"env": {"CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1"}}')
        ada.start()
        ada.send("while idle")
        ada.settle()
        ada.prompt(f"{THINK} a while")
        ada.send("while it works")
        ada.settle()

        assert ada.judge().holds, ada.judge()


def test_routes_that_do_not_work_are_named(sm: Sm) -> None:
    """A client that watches no inbox and keeps no state file."""
    with desk(sm) as ada:
        ada.start()
        ada.send("hello")
        ada.settle()
        assert findings(sm, "session ada") == []

        pid = sm.json("show", "ada")["pid"]
        (ada.home.config / "sessions" / f"{pid}.json").write_text("no JSON any more")
        (sm.home.bin / "bell").write_text("#!/bin/sh\nexit 0\n")
        ada.type("half a thought")
        wait_until(lambda: ada.box() == "half a thought", seen=ada.report)
        ada.send("beside the draft")
        wait_until(lambda: all(m["state"] == "done" for m in ada.messages()), 30, seen=ada.report)

        assert ada.box() == "half a thought"
        assert ada.judge().holds, ada.judge()
        assert [words.partition(":")[0] for words in findings(sm, "session ada")] == [
            "doorbell",
            "status file",
        ]
