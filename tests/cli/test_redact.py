"""sm redact"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import refusal
from tests.kit.sm import SM, Sm, sm_home

TOKEN = "ghp_" + "a1B2" * 9
NOTES = f"export GITHUB_TOKEN={TOKEN}\npassword: Zx81-Spectrum\nthe end\n"
REDACTED = "export GITHUB_TOKEN=[redacted:github-token]\npassword: [redacted:password]\nthe end\n"


@pytest.fixture
def own() -> Iterator[Sm]:
    """A home whose configuration may be changed; no daemon is ever started in it."""
    with sm_home() as made:
        made.base.mkdir()
        yield made
        assert not made.home.state.exists()


@pytest.fixture
def notes(own: Sm) -> Path:
    path = own.work / "notes.txt"
    path.write_text(NOTES)
    return path


def test_standard_input_is_filtered(own: Sm) -> None:
    """Without a file, and where - stands for one."""
    assert own.run("redact", input=NOTES) == REDACTED
    assert own.run("redact", "-", input=NOTES) == REDACTED


def test_files_are_printed_one_after_the_other(own: Sm, notes: Path) -> None:
    """As cat does, and standard input among them."""
    assert own.run("redact", "notes.txt", "-", str(notes), input="between\n") == (
        f"{REDACTED}between\n{REDACTED}"
    )
    assert notes.read_text() == NOTES


def test_json_counts_each_kind(own: Sm, notes: Path) -> None:
    """Instead of the text; nothing found is an empty object."""
    assert own.json("redact", "notes.txt", "notes.txt") == {"github-token": 2, "password": 2}
    assert own.json("redact", input="nothing\n") == {}


def test_the_users_own_patterns_are_used(own: Sm) -> None:
    own.home.config.write_text("[redaction.patterns]\nbadge = 'BADGE-[0-9]{4}'\n")

    assert own.run("redact", input="BADGE-1234 opens\n") == "[redacted:badge] opens\n"


def test_a_broken_pattern_is_named(own: Sm) -> None:
    """Rather than print what the user wanted to hide."""
    own.home.config.write_text("[redaction.patterns]\nbadge = '[a-'\n")
    why = "a regular expression (unterminated character set at position 0)"

    assert refusal(own, "redact", "/dev/null") == (
        1,
        f"{own.home.config}: redaction.patterns.badge must be {why}.",
    )


def test_a_missing_file_is_named_before_anything_is_printed(own: Sm, notes: Path) -> None:
    refused = own.start("redact", "notes.txt", "missing.txt")

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "sm: File not found: missing.txt. Nothing was printed.\n"


def test_a_folder_is_no_file(own: Sm) -> None:
    assert refusal(own, "redact", ".") == (
        1,
        ". is a folder. Name its files: sm redact ./*",
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(own: Sm, notes: Path) -> None:
    notes.chmod(0)

    assert refusal(own, "redact", "notes.txt") == (
        1,
        "notes.txt cannot be read: permission denied. Nothing was printed.",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that fails when it is read")
def test_a_file_that_breaks_off_is_said(own: Sm, notes: Path) -> None:
    """What was printed before it is not taken for everything."""
    refused = own.start("redact", "notes.txt", "/proc/self/mem", "notes.txt")

    assert (refused.returncode, refused.stdout) == (1, REDACTED)
    assert refused.stderr == (
        "sm: /proc/self/mem could not be read to its end: Input/output error. "
        "What was printed is incomplete.\n"
    )


def test_bytes_that_are_no_text_pass_through(own: Sm) -> None:
    noise = bytes(range(256)) * 3
    done = subprocess.run(
        [str(SM), "redact"], input=noise + b" " + TOKEN.encode() + noise, env=own.environment,
        capture_output=True, check=True,
    )  # fmt: skip

    assert done.stdout == noise + b" [redacted:github-token]" + noise


def test_a_log_that_grows_is_followed(own: Sm) -> None:
    """Whole lines come out while the input is still open."""
    with subprocess.Popen(
        [str(SM), "redact"], env=own.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as filtered:
        assert filtered.stdin is not None
        assert filtered.stdout is not None
        filtered.stdin.write(f"token {TOKEN}\nhalf".encode())
        filtered.stdin.flush()
        first = filtered.stdout.readline()
        rest, _ = filtered.communicate(b" a line\n", timeout=20)

    assert (first, rest) == (b"token [redacted:github-token]\n", b"half a line\n")


def test_a_reader_that_leaves_early_is_no_error(own: Sm) -> None:
    big = own.work / "big.txt"
    big.write_text(NOTES * 60_000)
    done = subprocess.run(
        f"{SM} redact {big} | head -n 1", shell=True, env=own.environment, capture_output=True,
        text=True, check=True,
    )  # fmt: skip

    assert (done.stdout, done.stderr) == (REDACTED.partition("\n")[0] + "\n", "")
