"""The scripts that agents and panes call, as the daemon makes them; here for who has no daemon."""

from pathlib import Path

from sm.adapters.folders import SessionFolders
from sm.settings.home import Home


def missing(home: Home) -> list[Path]:
    """Those that nobody could run."""
    return SessionFolders(home).missing_scripts()


def write(home: Home) -> None:
    """Write what is missing or says something else."""
    SessionFolders(home).write_scripts()
