"""Starts the demo agent."""

import os
import sys
import time
from pathlib import Path

from sm.adapters.agents.demo.app import App
from sm.adapters.agents.demo.conversation import Conversation, NoSuchConversationError
from sm.adapters.agents.demo.options import parse
from sm.adapters.agents.demo.status import Status
from sm.adapters.agents.demo.terminal import Terminal


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    cwd = str(Path.cwd())
    config = Path(os.environ.get("SM_DEMO_CONFIG") or "~/.config/sm-demo").expanduser()
    try:
        talk = Conversation(options, config=config, cwd=cwd)
    except NoSuchConversationError as error:
        sys.exit(str(error))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.exit("The demo agent needs a terminal. Start it in one.")
    time.sleep(options.slow_start)
    terminal = Terminal(sys.stdin.fileno(), sys.stdout.fileno())
    App(options, talk, terminal, Status(config, name=options.name, cwd=cwd)).run()


if __name__ == "__main__":
    main(sys.argv[1:])
