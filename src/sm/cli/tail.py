"""What a session's screen shows now; with -f, again each time it changes."""

import argparse
import errno
import os
import select
import sys
import time
from typing import cast

from sm.api.client import segment
from sm.api.types import ScreenView
from sm.cli.output import client, print_json

EXAMPLE = "sm tail ada -f"
EVERY = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id, unique id prefix, or name")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until interrupted")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    path = f"/sessions/{segment(args.session)}/screen"
    shown: list[str] | None = None
    while True:
        screen = cast("ScreenView", client().get(path))
        if args.json:
            print_json(screen)
        elif screen["lines"] != shown:
            _draw(screen["lines"], again=shown is not None)
        shown = screen["lines"]
        if not args.follow:
            return 0
        _pause()


def _pause() -> None:
    """A reader that leaves is not waited for until there is more to read."""
    output = select.poll()
    output.register(sys.stdout, 0)
    if any(state & select.POLLERR for _, state in output.poll(0)):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
    time.sleep(EVERY)


def _draw(lines: list[str], *, again: bool) -> None:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    if again and sys.stdout.isatty():
        print("\x1b[H\x1b[2J", end="")
    print("\n".join(lines), flush=True)
