"""sm handoffs draft"""

from pathlib import Path

from tests.cli.conftest import refusal
from tests.kit.planted import found, plant
from tests.kit.sm import Sm


def test_a_sessions_document_is_printed_and_nothing_is_done(sm: Sm) -> None:
    before = sm.json("show", "ada")

    printed = sm.run("handoffs", "draft", "ada")

    assert printed.startswith("<!-- HANDOFF-ID: HO-")
    assert "\n# Automatic handoff: ada\n" in printed
    assert "\nhello\n" in printed
    assert sm.json("handoffs", "draft", "ada")["document"].count("\n## ") == printed.count("\n## ")
    assert sm.json("show", "ada")["context"] == before["context"]
    assert sm.run("handoffs", "ada") == "No handoffs.\n"


def test_secrets_are_left_out(sm: Sm) -> None:
    """Whatever a person or a tool said."""
    key = "AKIA" + "Q3EGSN7ZX4PLWM2V"
    sm.new_demo("zed")
    sm.run("send", "zed", f"use {key} for it", "--wait", "20")
    sm.run("wait", "zed")
    printed = sm.run("handoffs", "draft", "zed")
    sm.run("kill", "zed")

    assert key not in printed
    assert "use [redacted:" in printed


def test_inside_a_session_it_is_that_ones(sm: Sm) -> None:
    inside = {"CLAUDE_SESSION_MANAGER_ID": sm.json("show", "ada")["id"]}

    assert "# Automatic handoff: ada" in sm.run("handoffs", "draft", environment=inside)


def test_any_transcript_will_do(sm: Sm, tmp_path: Path) -> None:
    """A request too long for the document is announced; the document names its place."""
    planted = plant(tmp_path / "a b'c.jsonl", 150_000, long_request=True)

    done = sm.start("handoffs", "draft", "--transcript", str(planted.path), "--budget", "25KB")

    assert done.returncode == 0
    assert all(found(fact, done.stdout) for fact in planted.facts)
    assert len(done.stdout.encode()) <= 25_000
    long = planted.latest_requests[0]
    name = done.stderr.split()[1]
    assert done.stderr == (
        f"sm: {name} would be kept beside it: a request of {len(long.encode())} bytes, whole"
        " (--json shows it)\n"
    )
    assert f"whole in {name}, beside this document" in done.stdout


def test_refusals_say_what_to_do(sm: Sm, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("not a transcript\n")

    assert refusal(sm, "handoffs", "draft") == (
        2, "Name a session or a transcript: sm handoffs draft SESSION, or --transcript FILE",
    )  # fmt: skip
    assert refusal(sm, "handoffs", "draft", "ada", "--transcript", "x") == (
        2, "Name a session or a transcript, not both.",
    )  # fmt: skip
    assert refusal(sm, "handoffs", "draft", "--transcript", str(tmp_path / "none")) == (
        1, f"{tmp_path}/none does not exist. Name a transcript, such as sm show tells.",
    )  # fmt: skip
    assert refusal(sm, "handoffs", "draft", "--transcript", str(other)) == (
        1, f"{other} is not a transcript sm can read: it holds no record of a conversation.",
    )  # fmt: skip
    assert refusal(sm, "handoffs", "draft", "ada", "--budget", "1KB") == (
        1, "A document of 1000 bytes says too little. Give at least 4KB.",
    )  # fmt: skip
    assert refusal(sm, "handoffs", "ada", "--transcript", "x") == (
        2, "--transcript is for: sm handoffs draft --transcript FILE",
    )  # fmt: skip
    assert refusal(sm, "handoffs", "draft", "gone")[0] == 1


def test_a_budget_is_a_size(sm: Sm) -> None:
    done = sm.start("handoffs", "draft", "ada", "--budget", "much")

    assert done.returncode == 2
    assert "'much' is no size; write 30KB or 1MB" in done.stderr
