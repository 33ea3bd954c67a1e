"""What the worker can be asked to do, and which of it a submitted text means. Pure."""

import re
from typing import NamedTuple

_COMMAND = re.compile(r"/([\w:-]+)(?:\s|\Z)")


class Start(NamedTuple):
    """Report that the session began."""


class Prompt(NamedTuple):
    text: str
    told: str | None = None
    """What a hook said that woke the agent; a person's prompt has none."""


class Clear(NamedTuple):
    pass


class Compact(NamedTuple):
    pass


class Exit(NamedTuple):
    pass


class RunShell(NamedTuple):
    """``!command``: no permission, no hook."""

    command: str


class TellIdle(NamedTuple):
    """A minute passed since the last turn."""


Job = Start | Prompt | Clear | Compact | Exit | RunShell | TellIdle

_COMMANDS: dict[str, Job] = {"clear": Clear(), "compact": Compact(), "exit": Exit()}


def job_for(text: str) -> Job | None:
    """A command, a shell line or a prompt; None for a command nobody knows."""
    if text.startswith("!"):
        return RunShell(text[1:])
    # A path with a second slash is a plain prompt.
    command = _COMMAND.match(text)
    return Prompt(text) if command is None else _COMMANDS.get(command.group(1))
