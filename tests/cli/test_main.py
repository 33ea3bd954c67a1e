"""What holds for every command: help, wrong usage, exit codes, how much is loaded."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from sm.cli.main import COMMANDS, parser
from tests.cli.conftest import refusal
from tests.kit.sm import SM, Sm, sm_home
from tests.kit.tmux import wait_until

FLAGS = {
    "new": "--agent --cwd --parent --attach --prompt --json",
    "run": "--agent --name --channel --max-restarts",
    "ls": "--all --json",
    "show": "--json",
    "explain": "--json",
    "attach": "",
    "kill": "--json",
    "adopt": "--agent --json --tmux-socket",
    "release": "--json",
    "rename": "--json",
    "wait": "--for --timeout --json",
    "tail": "-f --json",
    "log": "--raw --text --lines --json",
    "snapshot": "--list --show --json",
    "recover": "--all --dry-run --resume --fresh --json",
    "send": "--sequential --important --urgent --wait --no-notify --json",
    "messages": "--state --json",
    "cancel": "--json",
    "remind": "--in --every --cancel --json",
    "install": "--agent --service --dry-run --yes --json",
    "uninstall": "--agent --service --dry-run --yes --json",
    "doctor": "--fix --json",
    "demo": "--json",
    "handoff": "--template --check --json",
    "handoffs": "--limit --json",
    "context": "--on --off --json",
    "notices": "--clear --json",
    "channel": "--json",
    "redact": "--json",
    "daemon": "--json",
    "config": "--json",
    "completion": "",
    "version": "--json",
}
"""What the documentation promises."""


def test_the_overview_lists_every_command(sm: Sm) -> None:
    """Asked for: exit 0. Nothing asked: the same words, exit 2."""
    overview = sm.run("--help")
    nothing = sm.start()

    listed = re.findall(r"^  (\w+) +\S", overview, flags=re.MULTILINE)
    assert listed == list(COMMANDS)
    assert overview == sm.run("help") == sm.run("-h")
    assert (nothing.returncode, nothing.stdout) == (2, overview)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_its_flags(sm: Sm, command: str) -> None:
    """`--help` says what it does, shows one use, and names every documented flag."""
    shown = sm.run(command, "--help")

    assert shown.startswith(f"usage: sm {command}")
    assert f"\nexample:\n  {'eval' if command == 'completion' else 'sm ' + command}" in shown
    flags = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", shown))
    assert set(FLAGS[command].split()) <= flags


@pytest.mark.parametrize("command", COMMANDS)
def test_of_every_command_it_is_known_whether_json_was_asked_for(command: str) -> None:
    """Also of one that has none: then its output is for people."""
    assert parser(import_module(f"sm.cli.{command}"), command).get_default("json") is False


def test_an_unknown_command_is_answered_with_the_nearest(sm: Sm) -> None:
    """Exit 2."""
    assert refusal(sm, "shwo") == (
        2, "there is no command 'shwo'. Did you mean 'show'? See: sm --help",
    )  # fmt: skip
    assert refusal(sm, "xyzzy") == (2, "there is no command 'xyzzy'. See: sm --help")


def test_wrong_usage_is_exit_2(sm: Sm) -> None:
    """A missing argument, an unknown flag."""
    for arguments in (("show",), ("ls", "--loud"), ("send", "ada"), ("wait", "ada", "--for", "x")):
        done = sm.start(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"usage: sm {arguments[0]}")


@pytest.mark.parametrize(
    "line",
    ["show X", "send ada X", "messages --state X", "handoffs --channel X", "new ada -- X"],
)
def test_an_argument_that_is_not_utf8_is_refused(sm: Sm, line: str) -> None:
    """Nothing is stored in its place; the words show its bytes."""
    foreign = os.fsdecode(b"caf\xe9")
    assert refusal(sm, *(foreign if word == "X" else word for word in line.split())) == (
        2, r"The argument 'caf\xe9' is not valid UTF-8. Write it in UTF-8.",
    )  # fmt: skip


def test_a_file_may_have_any_name(sm: Sm) -> None:
    """The commands that take names of files take those that are not UTF-8."""
    path = Path(os.fsdecode(os.fsencode(sm.work) + b"/caf\xe9.log"))
    path.write_text("nothing secret")

    assert sm.run("redact", str(path)) == "nothing secret"


def test_a_daemon_that_cannot_be_started_is_exit_2() -> None:
    """With the reason."""
    with sm_home() as broken:
        broken.base.write_text("in the way")
        assert refusal(broken, "ls") == (
            2, f"{broken.base} is not a folder. Move it away or set SM_HOME.",
        )  # fmt: skip


LONG = "/tmp/" + "y" * 300


@pytest.mark.parametrize("line", ["ls", "recover", "uninstall --yes", "daemon logs", "config"])
def test_a_home_with_too_long_a_name_is_exit_2(sm: Sm, line: str) -> None:
    """No command can do anything there."""
    done = sm.start(*line.split(), environment={"SM_HOME": LONG})

    assert re.fullmatch(
        rf"sm: The name {LONG}/.+ is too long\. Set SM_HOME to a shorter one\.\n", done.stderr
    )
    assert done.returncode == 2


@pytest.mark.parametrize("line", ["new --cwd", "channel", "redact", "handoff --check"])
def test_a_file_with_too_long_a_name_is_refused(sm: Sm, line: str) -> None:
    """Whatever it was to be used for."""
    assert refusal(sm, *line.split(), LONG) == (
        1, f"The name {LONG} is too long. Give a shorter one.",
    )  # fmt: skip


EMPTY = {
    "messages X": "sm ls --all",
    "handoffs X": "sm ls --all",
    "handoffs load X": "sm ls --all",
    "handoffs show X": "sm handoffs",
    "new eve --parent X": "sm ls --all",
    "cancel X": "sm messages",
    "remind --cancel X": "sm remind --list",
    "remind --list X": "sm ls --all",
}


@pytest.mark.parametrize("line", EMPTY)
def test_an_empty_name_is_refused_everywhere(sm: Sm, line: str) -> None:
    """As of a variable that is not set: it never means all. What there is, is told."""
    assert refusal(sm, *("" if word == "X" else word for word in line.split())) == (
        1, f"An empty name means nothing. See what there is with: {EMPTY[line]}",
    )  # fmt: skip


@pytest.mark.parametrize("line", ["redact", "channel", "new eve --cwd", "handoff --check"])
def test_an_empty_name_of_a_file_is_refused(sm: Sm, line: str) -> None:
    """It would mean the folder one happens to be in."""
    assert refusal(sm, *line.split(), "") == (
        1, "An empty name is no file and no folder. Give its name.",
    )  # fmt: skip


@pytest.mark.parametrize("line", ["handoffs load ada", "handoffs clear", "handoffs"])
@pytest.mark.parametrize("name", ["../x", ""])
def test_what_cannot_be_a_channel_is_wrong_usage(sm: Sm, line: str, name: str) -> None:
    """Nothing could ever wait there."""
    status, words = refusal(sm, *line.split(), "--channel", name)

    assert status == 2
    assert words.startswith(f"{name!r} cannot be a channel's name. It must be 1 to 64 letters")


def test_a_reader_that_leaves_early_is_no_error(sm: Sm) -> None:
    """`sm log ada | head -1` ends quietly."""
    reading, writing = os.pipe()
    os.close(reading)
    for arguments in (["version"], ["ls"], ["log", "ada"], ["log", "ada", "--raw"], ["ls", "-h"]):
        done = subprocess.run(
            [SM, *arguments], stdout=writing, stderr=subprocess.PIPE, env=sm.environment
        )
        assert (done.returncode, done.stderr) == (0, b"")
    os.close(writing)


WRITING = (
    "version", "version --json", "--help", "ls --help", "new --help", "ls", "ls --json", "show ada",
    "explain ada", "log ada", "log ada --raw", "messages", "tail ada", "completion bash",
    "config", "daemon status", "doctor",
)  # fmt: skip


@pytest.mark.parametrize("line", WRITING)
def test_output_that_cannot_be_written_is_told_in_one_line(sm: Sm, line: str) -> None:
    """A full disk, a closed output: exit 1, and no traceback."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [SM, *line.split()], stdout=full, stderr=subprocess.PIPE, text=True, env=sm.environment
        )
    closed = subprocess.run(
        ["sh", "-c", f"'{SM}' {line} >&-"], stderr=subprocess.PIPE, text=True, env=sm.environment
    )

    assert (done.returncode, done.stderr) == (
        1, "sm: The output could not be written: No space left on device.\n",
    )  # fmt: skip
    assert (closed.returncode, closed.stderr) == (
        1, "sm: Standard output is closed. If it is not wanted, add: >/dev/null\n",
    )  # fmt: skip


def test_what_a_terminal_cannot_show_is_replaced(sm: Sm) -> None:
    """In JSON it is escaped."""
    latin = {"PYTHONIOENCODING": "latin-1"}
    message = sm.run("send", "bob", "a \u2713").strip()
    shown = sm.run("messages", "bob", environment=latin)
    told = sm.json("messages", "bob", environment=latin)
    sm.run("cancel", message)

    assert " a ?" in shown
    assert "a \u2713" in [m["text"] for m in told]


@pytest.mark.parametrize("line", ["new eve", "run -- demo", "handoff --check x.md"])
def test_a_folder_that_was_deleted_is_told(sm: Sm, line: str) -> None:
    """Nothing is started there."""
    gone = sm.folder / "gone"
    done = subprocess.run(
        ["sh", "-c", f"mkdir {gone}; cd {gone}; rmdir {gone}; '{SM}' {line}"],
        env=sm.environment, capture_output=True, text=True,
    )  # fmt: skip

    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1, "sm: This folder was deleted. Go to another, and run it there.",
    )  # fmt: skip


def test_nothing_is_done_when_the_output_is_closed(sm: Sm) -> None:
    """A message whose id nobody could read is not sent."""
    before = len(sm.messages("bob"))
    subprocess.run(["sh", "-c", f"'{SM}' send bob x >&-"], env=sm.environment, capture_output=True)

    assert len(sm.messages("bob")) == before


def test_without_anywhere_to_complain_the_exit_code_stays(sm: Sm) -> None:
    """Standard error full or closed."""
    for where in ("2>/dev/full", "2>&-"):
        done = subprocess.run(["sh", "-c", f"'{SM}' xyzzy {where}"], env=sm.environment)
        assert done.returncode == 2


def test_a_command_loads_only_what_it_needs(sm: Sm) -> None:
    """`sm send` is run by agents, many times a day: it starts in a moment."""
    slow = ["asyncio", "rich", "msgspec", "subprocess", "sqlalchemy", "starlette", "tomllib"]
    code = (
        "import sys; from sm.cli.main import main; main(['ls']);"
        f"print(*[m for m in {slow} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], env=sm.environment, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr.split()) == (0, [])


def test_inside_a_session_nothing_needs_to_be_told(sm: Sm) -> None:
    """An agent's own environment leads its commands to the right home."""
    told = sm.folder / "inside"
    sm.run("new", "inner", "--agent", f"sh -c '{SM} ls > {told}.new; mv {told}.new {told}; cat'")
    wait_until(told.exists)
    sm.run("kill", "inner")

    assert " ada " in told.read_text()
    assert " inner " in told.read_text()


def test_words_behind_two_dashes_belong_to_new_alone(sm: Sm) -> None:
    """For other commands they protect a text that begins with a dash."""
    message = sm.run("send", "bob", "--", "--not an option").strip()
    sm.run("cancel", message)

    assert {m["id"]: m["text"] for m in sm.messages("bob")}[message] == "--not an option"
