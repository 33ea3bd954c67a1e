"""The argument parser of every command: argparse, with help that must arrive."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


class Parser(argparse.ArgumentParser):
    """As its base, which would say nothing of help that could not be written."""

    given: Sequence[str] = ()
    """What it is asked to parse, for the words of an error."""

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        (file or sys.stdout).write(self.format_help())

    def error(self, message: str) -> NoReturn:
        super().error(message + self._hint())

    def _hint(self) -> str:
        """A text that begins with a dash was taken for an option: what to do."""
        known = tuple(option for action in self._actions for option in action.option_strings)
        takes_text = any(a.metavar == "TEXT" and not a.option_strings for a in self._actions)
        for word in self.given if takes_text and "--" not in self.given else ():
            name = word.partition("=")[0]
            if word.startswith("-") and not any(o.startswith(name) for o in known):
                return f". If {word!r} is the text, write -- before it"
        return ""
