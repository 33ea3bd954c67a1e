"""The demo agent's command line: Claude Code's options, and some for tests."""

import argparse
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_DIRECTIVES = """\
Lines of a prompt that begin with % are done in order; without any, the text is answered.
  %say TEXT       say it
  %work SECONDS   think for so long
  %tool COMMAND   run it in a shell, as an allowed Bash call
  %ask COMMAND    the same, but a person must allow it first
  %task N COMMAND run it with 1 to N for {}; without directives, go on with the task one knows of
  %agent COMMAND  let a sub-agent run it
  %background COMMAND   run it beside the conversation
  %output N       print N lines
  %usage N        report N tokens of context from now on
  %fail ERROR     end the turn with an API error
  %crash [HOW]    die: by SIGKILL, by a signal's name or number, or with "exit N"
  %clear, %compact, %exit   the command of that name, after the turn
"""


WINDOW = 200_000


class Options(NamedTuple):
    session_id: str | None
    resume: str | None
    settings: str | None
    name: str
    window: int
    script: str | None
    delay: float
    received: str | None
    swallow_enter: int
    slow_start: float
    dialog_notice: float
    idle_notice: float
    record_delay: float
    prompt: str | None


def window(arguments: Sequence[str]) -> int:
    """The window a command line asks for, without refusing anything: the program itself will."""
    asked = [word.partition("=")[2] for word in arguments if word.startswith("--window=")]
    asked += [value for word, value in pairwise(arguments) if word == "--window"]
    return int(asked[-1]) if asked and asked[-1].isdecimal() else WINDOW


def parse(arguments: list[str]) -> Options:
    parser = argparse.ArgumentParser(
        prog="demo",
        description="An agent that behaves as Claude Code does, without a model.",
        epilog=_DIRECTIVES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--session-id", help="the id of the new conversation")
    parser.add_argument("--resume", help="go on with the conversation of this id")
    parser.add_argument("--settings", help="a settings file with hooks, in Claude Code's form")
    parser.add_argument("--name", default="Demo agent", help="shown in the terminal's title")
    parser.add_argument("--window", type=int, default=WINDOW, help="context window in tokens")
    parser.add_argument("--script", help="what to do at each prompt: blocks between --- lines")
    parser.add_argument("--delay", type=float, default=0.05, help="seconds of thought per step")
    parser.add_argument("--received", help="file that gets everything the model is given")
    parser.add_argument("--swallow-enter", type=int, default=0, help="Enters to lose at first")
    parser.add_argument("--slow-start", type=float, default=0.0, help="seconds before the prompt")
    parser.add_argument("--dialog-notice", type=float, default=6.0, help="seconds to a reminder")
    parser.add_argument("--idle-notice", type=float, default=60.0, help="the same when idle")
    parser.add_argument("--record-delay", type=float, default=0.1, help="seconds a record lags")
    parser.add_argument("prompt", nargs="?", help="the first prompt")
    return Options(**vars(parser.parse_args(arguments)))
