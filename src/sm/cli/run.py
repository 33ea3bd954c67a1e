"""Run an agent in this terminal and keep it going when its context is full, unattended."""

import argparse
import json
import os
import secrets
import sys
import tempfile
from pathlib import Path

from sm.api.errors import RefusedError
from sm.cli.output import at_least

EXAMPLE = 'sm run -- claude "migrate the tests, file by file"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="AGENT", help="claude or demo, if the command is not")
    parser.add_argument("--name", metavar="NAME", help="the session's name; made up if missing")
    parser.add_argument("--channel", metavar="NAME", help="the channel its handoffs belong to")
    parser.add_argument(
        "--max-restarts", type=at_least(0), metavar="N", help="start it again at most so often"
    )
    parser.add_argument(
        "line", nargs=argparse.REMAINDER, metavar="AGENT [ARGS...]", help="best behind --"
    )
    parser.usage = (
        "sm run [--agent AGENT] [--name NAME] [--channel NAME] [--max-restarts N]"
        " -- AGENT [ARGS...]"
    )


def run(args: argparse.Namespace) -> int:
    words = list(args.rest or args.line)
    agent = args.agent or (words.pop(0) if words else None)
    if agent is None:
        sys.stderr.write("sm: name the agent to run: sm run -- claude\n")
        return 2
    session = secrets.token_hex(4)
    request = {
        "id": session,
        "name": args.name or f"{Path(agent).name}-{session[:4]}",
        "agent": agent,
        "arguments": words,
        "cwd": str(Path.cwd()),
        "channel": args.channel,
        "max_restarts": args.max_restarts,
    }
    try:
        # By a file: a prompt may be longer than one argument can be.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
            json.dump(request, file)
            file.flush()
            file.seek(0)
            os.set_inheritable(file.fileno(), True)
            line = [sys.executable, "-I", "-m", "sm.wrapper", str(file.fileno())]
            # Becomes the wrapper: the shell that started us sees one process, and its exit code.
            os.execv(sys.executable, line)  # noqa: S606 - no shell is wanted
    except OSError as error:
        raise RefusedError(f"The wrapper could not be started: {error}.", 500) from None
