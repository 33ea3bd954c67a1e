"""Finds the command, imports only that one, and turns refusals into one line and an exit code.

Exit 0: done. 1: refused (what, why, what to do), or the output could not be written. 2: wrong
usage, or the daemon cannot be reached or started. 3: done, but the output could not be written.
130: interrupted.
"""

import errno
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from sm.cli import done

if TYPE_CHECKING:
    import argparse

    from sm.cli.usage import Parser

COMMANDS = {
    "new": "start an agent in a new session",
    "run": "run an agent in this terminal and keep it going, unattended",
    "adopt": "take over an agent that already runs in a tmux pane",
    "ls": "list sessions",
    "show": "everything about one session",
    "explain": "why we believe a session's state: evidence, source, age",
    "attach": "look at a session's terminal and type into it",
    "kill": "end a session and its agent",
    "release": "let go of an adopted session; its agent lives on",
    "rename": "give a session another name",
    "wait": "wait until a session is idle or has ended",
    "tail": "what a session's screen shows now",
    "log": "everything a session showed",
    "snapshot": "keep what a session's terminal holds; look at what was kept",
    "send": "send a session a message that provably arrives",
    "messages": "messages with their receipts",
    "cancel": "withdraw a queued message",
    "remind": "send a session a message later",
    "handoff": "hand your own work over to a fresh context of yours",
    "handoffs": "handoffs with the steps that prove them",
    "recover": "bring sessions back whose agent, terminal or host died",
    "context": "how full a session's context is",
    "notices": "what sm wants you to know",
    "channel": "which channel a folder belongs to; register folders",
    "redact": "replace the secrets in a text",
    "install": "merge our hooks into the settings of agents you start yourself",
    "uninstall": "take our hooks out again",
    "daemon": "start, stop and look at the background process",
    "doctor": "check everything sm needs, with the remedy",
    "config": "show, find and check the configuration",
    "completion": "completion for your shell",
    "version": "print the version",
    "demo": "the whole story in under a minute, no account, no network",
}

TAKES_REST = frozenset({"new", "run"})
"""Commands that hand on what stands behind ``--``."""

TAKES_FILES = frozenset({"channel", "redact", "handoff"})
"""Commands whose words name files and folders, which need not be UTF-8."""

TELLS_NO_NEWS = frozenset({"notices", "run", "demo", "redact", "completion", "version"})
"""Commands whose output is all there is to see."""

_OUTPUT_ERRORS = frozenset(
    {errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}
)


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code."""
    if sys.stdout is None:
        # Before anything is done: what the command opened next would take the output's place.
        _complain("Standard output is closed. If it is not wanted, add: >/dev/null")
        return 1
    _bear_any_text()
    done.take()
    try:
        try:
            return _command(sys.argv[1:] if argv is None else argv)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if isinstance(error, FileNotFoundError) and _is_nowhere():
            _complain("This folder was deleted. Go to another, and run it there.")
            return 1
        if error.errno == errno.ENAMETOOLONG and error.filename is not None:
            _complain(f"The name {os.fsdecode(error.filename)} is too long. Give a shorter one.")
            return 1
        if not _is_about_output(error):
            raise
        _drop(sys.stdout)
        if isinstance(error, BrokenPipeError):
            # The reader of our output has what it wanted: no error.
            return 0
        return _without_output(error)


def _command(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(overview())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        arguments = ["version"]
    name = arguments[0]
    if name not in COMMANDS:
        _complain(f"there is no command {name!r}.{_nearest(name)} See: sm --help")
        return 2
    if name not in TAKES_FILES and (foreign := _foreign(arguments)) is not None:
        _complain(f"The argument '{foreign}' is not valid UTF-8. Write it in UTF-8.")
        return 2
    return _run(import_module(f"sm.cli.{name}"), name, arguments[1:])


def _foreign(arguments: list[str]) -> str | None:
    """The first argument whose bytes are no UTF-8, with those escaped."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            return os.fsencode(argument).decode(errors="backslashreplace")
    return None


def _run(command: ModuleType, name: str, arguments: list[str]) -> int:
    made = parser(command, name)
    own, rest = _split(arguments) if name in TAKES_REST else (arguments, [])
    made.given = own
    parsed = made.parse_args(own)
    parsed.rest = rest
    # Imported here: a command that needs no daemon should not pay for the client.
    from sm.api.errors import NotInsideError, RefusedError, UnreachableError, UsageError
    from sm.settings.errors import HomeError

    try:
        status = int(command.run(parsed) or 0)
        _tell_news(name, parsed)
        return status
    except RefusedError as error:
        _complain(str(error))
        return 1
    except (UsageError, UnreachableError, NotInsideError, HomeError) as error:
        _complain(str(error))
        return 2


def _tell_news(name: str, parsed: "argparse.Namespace") -> None:
    """What nobody has seen yet, below the output of a command for people."""
    is_for_people = name not in TELLS_NO_NEWS and not parsed.json
    if is_for_people and sys.stdout.isatty():
        from sm.cli import unseen

        unseen.show()


def _complain(words: str) -> None:
    """One line for the person; with nowhere to write it, the exit code must do."""
    if sys.stderr is None:
        return
    # Here: most commands have nothing to complain about.
    from sm.cli.output import plain

    try:
        sys.stderr.write(f"sm: {plain(words)}\n")
    except OSError:
        _drop(sys.stderr)


def _bear_any_text() -> None:
    """A terminal of another encoding shows what it can; the rest must not end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _is_nowhere() -> bool:
    """Whether the folder the command was run in is gone, so that nothing is relative to it."""
    try:
        os.getcwd()  # noqa: PTH109 - a Path is not loaded for this
    except FileNotFoundError:
        return True
    return False


def _is_about_output(error: OSError) -> bool:
    """Commands write nothing but their output: an error of a file would name it."""
    return error.filename is None and error.errno in _OUTPUT_ERRORS


def _without_output(error: OSError) -> int:
    """Whoever takes it for refused would do it a second time."""
    words, what = f"The output could not be written: {error.strerror}.", done.take()
    _complain(f"{words} It was done all the same: {what}" if what else words)
    return 3 if what else 1


def _drop(stream: TextIO) -> None:
    """Keep the interpreter from trying, and complaining, once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def parser(command: ModuleType, name: str) -> "Parser":
    """The argument parser of one command."""
    from argparse import RawDescriptionHelpFormatter

    from sm.cli.usage import Parser

    made = Parser(
        prog=f"sm {name}",
        description=command.__doc__,
        epilog=f"example:\n  {command.EXAMPLE}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    # Also of a command that has no such output.
    made.set_defaults(json=False)
    command.add_arguments(made)
    return made


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What is ours, and what stands behind ``--`` for the agent."""
    if "--" not in arguments:
        return arguments, []
    cut = arguments.index("--")
    return arguments[:cut], arguments[cut + 1 :]


def overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {about}" for name, about in COMMANDS.items()]
    return (
        "sm keeps coding agents in tmux alive and on task.\n\n"
        "usage: sm COMMAND [...]\n\n" + "\n".join(lines) + "\n\n"
        "`sm COMMAND --help` explains one command. Begin with: sm demo\n"
    )


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, COMMANDS, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


if __name__ == "__main__":
    sys.exit(main())
