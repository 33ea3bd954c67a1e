"""Notices that nobody has seen yet, once below the output of whatever command comes next.

Only on a terminal, only where a daemon already runs, and never in the way of the command itself.
"""

import sys
from collections.abc import Sequence
from typing import cast

from sm.api import starting
from sm.api.client import Client
from sm.api.errors import RefusedError, UnreachableError
from sm.api.runs import is_run
from sm.api.types import NoticeView
from sm.cli.output import is_colourful, own_session
from sm.settings.home import Home, HomeError

WITHIN = 1.0


def show() -> None:
    try:
        home = Home.from_environment()
        home.check()
        if own_session() or is_run(home) or starting.running_version(home) is None:
            return
        api = Client(home, start=False)
        query = {"unseen": "true"}
        found = cast("list[NoticeView]", api.call("GET", "/notices", query=query, within=WITHIN))
        for notice in found:
            print(_line(notice["words"]))
        mark(api, found)
    except (RefusedError, UnreachableError, HomeError):
        return  # they are still there the next time


def mark(api: Client, shown: Sequence[NoticeView]) -> None:
    """What stands on a terminal was seen."""
    new = [notice["id"] for notice in shown if not notice["seen"]]
    if new and sys.stdout.isatty():
        api.call("POST", "/notices/seen", {"notices": new}, within=WITHIN)


def _line(words: str) -> str:
    return f"\x1b[33m! {words}\x1b[0m" if is_colourful() else f"! {words}"
