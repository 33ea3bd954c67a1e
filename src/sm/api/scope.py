"""A cgroup of its own for what must outlive whoever starts it, where systemd offers one.

Knows when that loses nothing: units of a user manager end when its user logs out for good, so
there is none for a process that lives outside of one, unless the user lingers. Starts nothing.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

SERVICE = "SM_SERVICE"
"""In the environment of a daemon that a service manager runs."""
LINGER = Path("/var/lib/systemd/linger")
_CGROUPS = Path("/proc/self/cgroup")


def words(
    *,
    before: str,
    environment: Mapping[str, str] = os.environ,
    cgroups: Path = _CGROUPS,
    linger: Path = LINGER,
) -> tuple[str, ...]:
    """What to put before a command to start it in a scope of its own; nothing where there is none.

    When everything ends together, the scope ends after the unit named ``before``.
    """
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    program = shutil.which("systemd-run", path=environment.get("PATH"))
    if program is None or not Path(runtime, "systemd", "private").exists():
        return ()
    if not (environment.get(SERVICE) or _is_hosted(cgroups) or lingers(linger)):
        return ()
    return (
        program, "--user", "--scope", "--quiet", "--collect",
        # Also says that one process killed for want of memory is no reason to end all others.
        "--property=Delegate=yes",
        "--property=SendSIGHUP=yes",
        f"--property=Before={before}",
        "--",
    )  # fmt: skip


def lingers(linger: Path = LINGER) -> bool:
    """Whether this user's services run without a login."""
    import pwd

    try:
        return (linger / pwd.getpwuid(os.geteuid()).pw_name).exists()
    except (KeyError, OSError):
        return False


def _is_hosted(cgroups: Path) -> bool:
    """Whether we are part of a user manager, and would end with it anyway."""
    try:
        return f"/user@{os.geteuid()}.service/" in cgroups.read_text()
    except OSError:
        return False
