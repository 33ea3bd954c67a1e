"""How a command is written so that tmux's own parser reads back exactly what was meant.

This is the parser of configuration files and control mode. The one for shell arguments differs:
there a trailing ``;`` is a separator however it is quoted.
"""

from collections.abc import Sequence

Command = Sequence[str]
"""A tmux command's name and arguments, unquoted."""

# "~" stands for a home folder at the start of a string even inside double quotes.
_ESCAPES = str.maketrans(
    {code: f"\\{code:03o}" for code in range(1, 32)}
    | {char: f"\\{char}" for char in '\\"$~'}
    | {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
)


def quote(value: str) -> str:
    """One argument; on one line, because control mode ends a command at the first newline."""
    if "\0" in value:
        raise ValueError("tmux cannot hold a NUL character")
    return f'"{value.translate(_ESCAPES)}"'


def render(*commands: Command) -> str:
    """A command list: it stops at the first command that fails."""
    return " ; ".join(" ".join(map(quote, command)) for command in commands)


def when(condition: str, *commands: Command, target: str | None = None) -> Command:
    """Run the commands if the format is true; checked and done by the server in one step."""
    aim = () if target is None else ("-t", target)
    return ("if-shell", "-F", *aim, condition, render(*commands))
