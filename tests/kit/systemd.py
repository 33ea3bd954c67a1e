"""A real systemd user manager in a namespace of its own: mounts, processes and cgroups are private.

What runs in it sees nothing of this machine's own manager, and ends with it. Needs root, a cgroup
file system of the second version, and systemd's programs.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.kit.tmux import wait_until
from tests.kit.untested import leave_untested

SM = Path(sys.executable).with_name("sm")
MANAGER = Path("/usr/lib/systemd/systemd")
_SET_UP = """
set -e
mount -t tmpfs none /run
mkdir -p /run/systemd/system /run/user/{uid}
chmod 700 /run/user/{uid}
mount -t tmpfs none /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p {sockets}
mount -t tmpfs -o mode=700 none {sockets}
touch {ready}
while :; do sleep 1; done
"""


def _why_not() -> str:
    """Why there can be none here; empty if there can."""
    if os.geteuid() != 0:
        return "needs root for a namespace of its own"
    missing = [name for name in ("unshare", "nsenter", "systemctl", "systemd-run")
               if shutil.which(name) is None]  # fmt: skip
    if missing or not MANAGER.exists():
        return f"needs systemd and util-linux, lacks {', '.join(missing) or MANAGER}"
    if _cgroups() is None:
        return "needs a cgroup file system of the second version that can be written"
    probe = ["unshare", "-mpC", "--fork", "--mount-proc", "mount", "-t", "tmpfs", "none", "/run"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"no namespaces: {done.stderr.strip()}"


def _cgroups() -> Path | None:
    for place in (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")):
        if (place / "cgroup.procs").exists() and os.access(place, os.W_OK):
            return place
    return None


class UserManager:
    """One user's systemd, from its start (the host's boot) to its end (its shutdown)."""

    def __init__(self, folder: Path, inside: int, cgroup: Path) -> None:
        self.folder = folder
        """HOME of everything in there."""
        self._inside = inside
        """A process whose namespaces are entered."""
        self._cgroup = cgroup
        self._manager: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{SM.parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }

    def _inner(self, *command: str) -> list[str]:
        enter = (
            f'echo $$ > {self._cgroup}/cgroup.procs; exec nsenter -t {self._inside} -m -p -C "$@"'
        )
        return ["sh", "-c", enter, "sh", "--", *command]

    def boot(self) -> None:
        with (self.folder / "manager.log").open("ab") as log:
            self._manager = subprocess.Popen(
                self._inner(str(MANAGER), "--user", "--log-target=console"),
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        wait_until(lambda: self.start("systemctl", "--user", "show").returncode == 0, 20)

    def shut_down(self) -> None:
        """End every service and scope of this user, as the host's shutdown does."""
        self.start("systemctl", "--user", "exit")
        if self._manager is not None:
            self._manager.wait(60)
            self._manager = None

    def forget(self) -> None:
        """Its namespace is gone, and it with that."""
        if self._manager is not None:
            self._manager.wait(20)

    def start(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self._inner(*command), env=self.environment, cwd=self.folder,
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def run(self, *command: str) -> str:
        done = self.start(*command)
        assert done.returncode == 0, f"{command}: {done.stderr}{done.stdout}"
        return done.stdout

    def sm(self, *arguments: str) -> str:
        return self.run(str(SM), *arguments)

    def json(self, *arguments: str) -> Any:
        return json.loads(self.sm(*arguments, "--json"))

    def unit(self, name: str, property_: str) -> str:
        return self.run("systemctl", "--user", "show", f"--property={property_}", "--value",
                        name).strip()  # fmt: skip

    def cgroup(self, pid: int) -> str:
        """Where a process is, as seen from inside."""
        lines = self.run("cat", f"/proc/{pid}/cgroup").splitlines()
        return next(line for line in lines if line.startswith("0::")).removeprefix("0::")

    def is_alive(self, pid: int) -> bool:
        state = self.start("grep", "^State:", f"/proc/{pid}/status").stdout
        return bool(state) and "Z" not in state

    def kill(self, pid: int, number: int = signal.SIGKILL) -> None:
        self.run("kill", f"-{number}", str(pid))


@contextlib.contextmanager
def user_manager() -> Iterator[UserManager]:
    """A booted one, gone with everything that ran in it at the end."""
    if reason := _why_not():
        leave_untested(f"THE SERVICE WAS NOT TESTED: {reason}")
    mounted = _cgroups()
    assert mounted is not None, "_why_not() says so before"
    folder = Path(tempfile.mkdtemp(prefix="smd-"))
    cgroup = mounted / f"sm-test-{folder.name}"
    cgroup.mkdir()
    ready = folder / "ready"
    sockets = f"{os.environ.get('TMUX_TMPDIR', '/tmp')}/tmux-{os.getuid()}"
    script = _SET_UP.format(uid=os.getuid(), sockets=sockets, ready=ready)
    unshare = "exec unshare -mpC --fork --mount-proc --kill-child"
    shell = f'echo $$ > {cgroup}/cgroup.procs; {unshare} sh -c "$1"'
    outer = subprocess.Popen(["sh", "-c", shell, "sh", script])
    made: UserManager | None = None
    try:
        wait_until(ready.exists)
        made = UserManager(folder, _child_of(outer.pid), cgroup)
        made.boot()
        yield made
        made.shut_down()
    finally:
        outer.kill()  # the first process of the namespace dies with it, and all others with that
        outer.wait(20)
        if made is not None:
            made.forget()
        wait_until(lambda: _emptied(cgroup), 20)
        shutil.rmtree(folder, ignore_errors=True)


def _child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _emptied(cgroup: Path) -> bool:
    """Whether the cgroup, with everything below it, could be removed."""
    try:
        for place in sorted((p for p in cgroup.rglob("*") if p.is_dir()), reverse=True):
            place.rmdir()
        cgroup.rmdir()
    except OSError:
        return False
    return True
