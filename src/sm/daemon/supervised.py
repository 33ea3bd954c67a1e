"""The daemon as a service of the system: it takes the place of one that a command has started.

That one would be looked after by nobody. Agents do not notice: they outlive every daemon. A newer
daemon is left alone, and whoever stops ours is not fought: it then ends in peace.
"""

import os
from collections.abc import Sequence

from sm.api import starting
from sm.api.errors import StartError
from sm.api.scope import SERVICE
from sm.daemon import parent
from sm.settings.home import Home
from sm.version import VERSION

TRIES = 5
"""A command may be faster than we are, and start another daemon in between."""
TAKEN = 75
"""Exit status (EX_TEMPFAIL) while somebody else holds the place: the system tries again."""


def run(worker: Sequence[str]) -> int:
    """Be the daemon until told to stop; 0 at once if a newer one runs."""
    _forget_the_managers_environment()
    home = Home.from_environment()
    for _ in range(TRIES):
        running = starting.running_version(home)
        if running is not None and starting.is_older(VERSION, running):
            return 0
        try:
            starting.stop(home)
        except StartError:
            return TAKEN
        status = parent.run(worker, taken=TAKEN)
        if status != TAKEN:
            return status
    return TAKEN


def _forget_the_managers_environment() -> None:
    """A desktop tells its service manager everything it knows, secrets among it."""
    kept = starting.clean_environment()
    os.environ.clear()
    os.environ.update(kept, **{SERVICE: "1"})
