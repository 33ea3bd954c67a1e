"""The argument parser of every command: argparse, with help that must arrive."""

import argparse
import sys
from typing import IO


class Parser(argparse.ArgumentParser):
    """As its base, which would say nothing of help that could not be written."""

    def print_help(self, file: IO[str] | None = None) -> None:
        (file or sys.stdout).write(self.format_help())
