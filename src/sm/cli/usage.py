"""The argument parser of every command: argparse, with help that must arrive."""

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


class Parser(argparse.ArgumentParser):
    """As its base, which would say nothing of help that could not be written."""

    def print_help(self, file: "SupportsWrite[str] | None" = None) -> None:
        (file or sys.stdout).write(self.format_help())
