"""Look at a session's terminal and type into it. Leave with the tmux prefix and d."""

import argparse
import os
import sys
from typing import cast

from sm.api.client import RefusedError, segment
from sm.api.types import SessionDetail
from sm.cli.output import client, tmux_program

EXAMPLE = "sm attach ada"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id, unique id prefix, or name")


def run(args: argparse.Namespace) -> int:
    return show(cast("SessionDetail", client().get(f"/sessions/{segment(args.session)}")))


def require_terminal(instead: str) -> None:
    """tmux draws on the terminal that our input comes from."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise RefusedError(f"This is no terminal to show a session in. {instead}", 409)


def show(session: SessionDetail) -> int:
    """Become tmux, attached to the session."""
    where = session["tmux"]
    name = session["name"]
    if where is None and session["state"] not in ("ended", "crashed"):
        raise RefusedError(
            f"{name} runs in a terminal of its own (sm run): there is nothing to attach to."
            f" See: sm tail {name}",
            409,
        )
    if where is None or session["state"] == "ended":
        raise RefusedError(f"{name} has no terminal any more. Its past: sm log {name}", 409)
    tmux = tmux_program()
    require_terminal(f"See: sm tail {name}")
    # Inside another tmux, nesting is what was asked for.
    environment = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE")}
    target = f"={where['session']}"
    os.execve(tmux, ["tmux", "-S", where["socket"], "attach-session", "-t", target], environment)  # noqa: S606
    return 0
