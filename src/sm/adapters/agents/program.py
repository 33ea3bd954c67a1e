"""Where a program is, as the caller's own shell would find it: their PATH, their directory."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path


def find_program(name: str, *, cwd: str, environment: Mapping[str, str]) -> str | None:
    """The absolute path of an executable, or None. The daemon's own PATH plays no part."""
    if os.sep in name:
        candidate = Path(cwd, name)
        runnable = candidate.is_file() and os.access(candidate, os.X_OK)
        return str(candidate) if runnable else None
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    # A relative PATH entry means the caller's directory, not the daemon's.
    return shutil.which(name, path=os.pathsep.join(str(Path(cwd, f)) for f in folders))
