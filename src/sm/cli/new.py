"""Start an agent in a new session, in this directory and environment. Prints the session's id."""

import argparse
import secrets
import sys
from pathlib import Path
from typing import cast

from sm.api import caller, starting
from sm.api.client import RefusedError, UnansweredError, named
from sm.api.types import SessionDetail
from sm.cli import attach, done
from sm.cli.output import (
    client,
    given_text,
    own_session,
    path_name,
    print_json,
    tellable,
    tmux_program,
)

EXAMPLE = 'sm new ada --agent demo --prompt "say hello"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="its name; made up if missing")
    parser.add_argument(
        "--agent", default="demo", metavar="AGENT",
        help='demo (built in), claude, or any command in quotes (default: demo)',
    )  # fmt: skip
    parser.add_argument("--cwd", default=".", metavar="DIR", help="working directory")
    parser.add_argument("--parent", metavar="SESSION", help="the session it belongs to")
    parser.add_argument(
        "--prompt", metavar="TEXT", help="its first message, or - to read standard input"
    )
    parser.add_argument(
        "--no-monitor", dest="monitored", action="store_false",
        help="do not warn its agent when its context fills",
    )  # fmt: skip
    parser.add_argument(
        "--auto-handoff", action="store_true",
        help="when its context is full and it does not hand over, do it for it",
    )  # fmt: skip
    parser.add_argument("--attach", action="store_true", help="look at it at once")
    parser.add_argument("--json", action="store_true", help="print everything about it")
    parser.usage = (
        "sm new [NAME] [--agent AGENT] [--cwd DIR] [--parent SESSION] [--prompt TEXT] "
        "[--no-monitor | --auto-handoff] [--attach] [--json] [-- AGENT ARGS...]"
    )


def run(args: argparse.Namespace) -> int:
    if args.attach:
        attach.require_terminal("Leave --attach away; nothing was started.")
    if args.auto_handoff and not args.monitored:
        sys.stderr.write("sm: --auto-handoff goes by the monitor: leave --no-monitor away\n")
        return 2
    cwd = Path(path_name(args.cwd)).absolute()
    if not cwd.is_dir():
        raise RefusedError(f"{cwd} is not a directory. Give --cwd DIR.", 400)
    # Where the daemon looks: it is the one to start it.
    tmux_program(starting.clean_environment()["PATH"])
    body = {
        "id": secrets.token_hex(4),
        "name": args.name,
        "agent": args.agent,
        "arguments": args.rest,
        "cwd": tellable(cwd, "Rename the folder, or link it under another name."),
        "parent": own_session() if args.parent is None else named(args.parent),
        "environment": caller.environment(),
        "prompt": None if args.prompt is None else given_text(args.prompt),
        "monitored": args.monitored,
        "auto_handoff": args.auto_handoff,
    }
    try:
        session = cast("SessionDetail", client().call("POST", "/sessions", body))
    except UnansweredError as error:
        raise UnansweredError(
            f"{error}. Session {body['id']} may have been started all the same: look with sm ls"
        ) from None
    done.note(f"session {session['id']} ({session['name']}) is started.")
    if args.attach:
        return attach.show(session)
    if args.json:
        print_json(session)
    else:
        print(session["id"])
    return 0
