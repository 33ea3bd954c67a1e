"""Runs inside a new pane: becomes the agent, in the directory and environment of the caller.

A script of its own, started without site-packages. It reads a file that only its owner can read,
so that no secret of the environment is ever in an argument list or in tmux.
"""

import json
import os
import sys


def main() -> None:
    try:
        with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - starts faster
            launch = json.load(file)
        if launch.get("once"):
            # Nobody else is to have this environment.
            os.unlink(sys.argv[1])  # noqa: PTH108 - starts faster
        os.chdir(launch["cwd"])
        environment = launch["environment"]
        # What the pane itself knows better than the caller did.
        for name in ("TERM", "TMUX", "TMUX_PANE", "COLORTERM"):
            if name in os.environ:
                environment[name] = os.environ[name]
        # The daemon's own files are closed to others; an agent's are as its caller wants them.
        os.umask(int(environment.pop("SM_UMASK", "022"), 8))
        argv = launch["argv"]
        os.execve(argv[0], argv, environment)  # noqa: S606 - this is what a launcher is for
    except (OSError, ValueError, LookupError) as error:
        sys.stderr.write(f"sm could not start the agent: {error}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
