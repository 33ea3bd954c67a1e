"""Take over an agent that already runs in a tmux pane. Says what cannot be promised for it."""

import argparse
import os
import secrets
from pathlib import Path
from typing import cast

from sm.api.client import RefusedError, UnansweredError
from sm.api.types import SessionDetail
from sm.cli import done
from sm.cli.output import client, coloured, print_json

EXAMPLE = "sm adopt %5 ada"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pane", metavar="PANE", help="%%5, or any tmux target such as work:1.0",
    )  # fmt: skip
    parser.add_argument("name", nargs="?", metavar="NAME", help="its name; made up if missing")
    parser.add_argument(
        "--agent", metavar="AGENT", help="claude or demo; whichever is found if missing"
    )
    parser.add_argument(
        "--tmux-socket", metavar="PATH", help="the tmux server's socket; default: yours"
    )
    parser.add_argument("--json", action="store_true", help="print everything about it")


def run(args: argparse.Namespace) -> int:
    body = {
        "id": secrets.token_hex(4),
        "pane": args.pane,
        "socket": _socket(args.tmux_socket),
        "name": args.name,
        "agent": args.agent,
    }
    try:
        session = cast("SessionDetail", client().call("POST", "/sessions/adopt", body))
    except UnansweredError as error:
        raise UnansweredError(
            f"{error}. Session {body['id']} may be there all the same: look with sm ls"
        ) from None
    done.note(f"session {session['id']} ({session['name']}) is adopted.")
    if args.json:
        print_json(session)
        return 0
    print(f"{session['id']}  {session['name']}  {session['agent']}  {coloured(session['state'])}")
    print("What sm cannot promise for it:")
    for limit in session["limits"]:
        print(f"- {limit}.")
    return 0


def _socket(given: str | None) -> str | None:
    """The tmux server that is meant: the one named, the one we are in, or tmux's default."""
    if given is not None:
        if not Path(given).is_socket():
            raise RefusedError(f"{given} is no tmux socket. Find yours with: tmux display -p -F "
                               "'#{socket_path}'", 400)  # fmt: skip
        return str(Path(given).absolute())
    inside = os.environ.get("TMUX", "").rsplit(",", 2)[0]
    if inside:
        return inside
    folder = Path(os.environ.get("TMUX_TMPDIR") or "/tmp")  # noqa: S108 - tmux's own place
    default = folder / f"tmux-{os.getuid()}" / "default"
    return str(default) if default.exists() else None
