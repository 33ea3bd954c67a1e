"""Replace the secrets in files, or in standard input, by [redacted:KIND].

A filter: the text goes to standard output, of any size, also while it is still being written. No
daemon is needed. Your own patterns are in the configuration: [redaction] patterns.
"""

import argparse
import os
import select
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from sm.api.errors import RefusedError
from sm.cli.output import path_name, print_json
from sm.settings.home import Home

EXAMPLE = "sm redact app.log > app-without-secrets.log"
BLOCK = 1 << 18
PAUSE = 0.2
"""Seconds without input after which whole lines are given out."""
STANDARD_INPUT = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="what to read; default, and -: standard input"
    )
    parser.add_argument(
        "--json", action="store_true", help="print how many of each kind were found, not the text"
    )


def run(args: argparse.Namespace) -> int:
    from sm.redaction.redactor import Redactor
    from sm.settings.config import ConfigError, load

    names = args.files or [STANDARD_INPUT]
    for name in names:
        _check(name)
    try:
        settings = load(Home.from_environment().config)
    except ConfigError as error:
        raise RefusedError(str(error), 400) from None
    redactor = Redactor(patterns=settings.redaction.patterns)
    for name in names:
        for piece in redactor.redact_stream(_blocks(name)):
            if not args.json:
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
    if args.json:
        print_json(dict(sorted(redactor.counts.items())))
    return 0


def _check(name: str) -> None:
    """All of them before the first is printed. Not by opening: a pipe can be opened once."""
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise RefusedError("Standard input is closed. Name a file: sm redact FILE", 400)
        return
    path = Path(path_name(name))
    if not path.exists():
        raise RefusedError(f"File not found: {name}. Nothing was printed.", 400)
    if path.is_dir():
        raise RefusedError(f"{name} is a folder. Name its files: sm redact {name}/*", 400)
    if not os.access(path, os.R_OK):
        raise RefusedError(f"{name} cannot be read: permission denied. Nothing was printed.", 400)


def _blocks(name: str) -> Iterator[bytes]:
    """What there is to read; an empty block when nothing comes for a moment."""
    with ExitStack() as stack:
        try:
            if name == STANDARD_INPUT:
                number = sys.stdin.fileno()
            else:
                number = os.open(name, os.O_RDONLY)
                stack.callback(os.close, number)
            while block := os.read(number, BLOCK):
                yield block
                if not select.select([number], [], [], PAUSE)[0]:
                    yield b""
        except OSError as error:
            where = "Standard input" if name == STANDARD_INPUT else name
            raise RefusedError(
                f"{where} could not be read to its end: {error.strerror}. "
                "What was printed is incomplete.",
                400,
            ) from None
