"""Each session's own folder, and the small scripts that agents and panes call.

Everything is readable by its owner alone.
"""

import contextlib
import errno
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from sm.adapters.files import keep_written, write_private
from sm.core.ids import SessionId
from sm.core.launch import AgentLine
from sm.settings.home import Home
from sm.settings.variables import SESSION_ID


def _environment_in(content: bytes) -> dict[str, str] | None:
    try:
        launch = json.loads(content)
    except (ValueError, RecursionError):
        return None
    found = launch.get("environment") if isinstance(launch, dict) else None
    if not isinstance(found, dict):
        return None
    return {str(name): str(value) for name, value in found.items()}


SCRIPTS = ("hook", "bell", "statusline", "launch", "path/sm")
"""What agents and panes call, below ``bin``."""
_SM = "import sys; from sm.cli.main import main; sys.exit(main())"


class SessionFolders:
    """Fits the engine's ``Folders``."""

    def __init__(self, home: Home, *, keeps_environment: bool = True) -> None:
        """``keeps_environment``: until the session ends, not only until its agent has it."""
        self._home = home
        self._keeps = keeps_environment

    def folder(self, session: SessionId) -> Path:
        return self._home.sessions / session

    @property
    def hook_command(self) -> Path:
        return self._home.bin / "hook"

    def raw_log(self, session: SessionId) -> str:
        return str(self.folder(session) / "raw.log")

    def sizes_log(self, session: SessionId) -> str:
        return str(self.folder(session) / "sizes.jsonl")

    def launch_argv(self, session: SessionId) -> tuple[str, ...]:
        return (str(self._home.bin / "launch"), str(self._launch_file(session)))

    def prepare(
        self,
        session: SessionId,
        line: AgentLine,
        environment: Mapping[str, str],
        cwd: str,
        *,
        recovery: Mapping[str, str] | None = None,
    ) -> None:
        """Keep what the launcher inside the pane needs. Never in argv or tmux's environment."""
        if self.missing_scripts():
            # Deleted under the daemon: without them no agent starts.
            self.write_scripts()
        folder = self.folder(session)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path, content in line.files.items():
            write_private(Path(path), content)
        launch = {
            "argv": list(line.argv),
            "environment": {**environment, **line.environment},
            "cwd": cwd,
            "once": not self._keeps,
        }
        note = self._recovery_file(session)
        if recovery is None:
            note.unlink(missing_ok=True)
        else:
            write_private(note, json.dumps(dict(recovery)).encode())
        write_private(self._launch_file(session), json.dumps(launch).encode())
        Path(self.raw_log(session)).touch(mode=0o600)

    def environment(self, session: SessionId) -> dict[str, str]:
        """What the session's agent was started with. A file that holds none is as good as gone:
        a full disk or somebody's editor may have left it so."""
        file = self._launch_file(session)
        found = _environment_in(file.read_bytes())
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "It holds no environment", str(file))
        return found

    def lend(self, session: SessionId, environment: Mapping[str, str]) -> None:
        """Keep an environment in the place of one that was not kept."""
        write_private(
            self._launch_file(session), json.dumps({"environment": dict(environment)}).encode()
        )

    def recovery(self, session: SessionId) -> dict[str, str]:
        """What was noted of the recovery it was last started by; nothing if it was by none."""
        try:
            noted = json.loads(self._recovery_file(session).read_bytes())
        except (OSError, ValueError):
            return {}
        return {str(name): str(value) for name, value in noted.items()}

    def make(self, session: SessionId) -> None:
        """The folder of a session whose agent sm did not start."""
        self.folder(session).mkdir(mode=0o700, parents=True, exist_ok=True)
        Path(self.raw_log(session)).touch(mode=0o600)

    def note_adopted(self, session: SessionId) -> None:
        """Installed hooks look whether there is any such file before they call us."""
        self._home.adopted.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._home.adopted / session).touch(mode=0o600)

    def forget_adopted(self, session: SessionId) -> None:
        with contextlib.suppress(OSError):  # the next start tries again
            (self._home.adopted / session).unlink(missing_ok=True)

    def forget_environment(self, session: SessionId) -> None:
        with contextlib.suppress(OSError):  # the next start tries again
            self._launch_file(session).unlink(missing_ok=True)
            for settings in self.folder(session).glob("*-settings.json"):
                settings.unlink()

    def forget_unkept(self, session: SessionId) -> None:
        """The same, unless environments are kept until their sessions end."""
        if not self._keeps:
            self.forget_environment(session)

    def inherit(self, session: SessionId, folder: Path) -> None:
        """Have the folder of a session that others kept until now stand for its own: what was
        written down of it names files there."""
        own = self.folder(session)
        own.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            own.symlink_to(folder, target_is_directory=True)

    def tidy(self, known: Iterable[SessionId]) -> None:
        """Take back folders of sessions that were never stored: their daemon died in between.

        Such a session's agent was never started. A folder that holds what an agent showed stays,
        even when the store that knew of it was lost.
        """
        kept = set(known)
        for folder in self._home.sessions.glob("*"):
            session = SessionId(folder.name)
            if session not in kept and not self._has_run(session):
                self.discard(session)

    def _has_run(self, session: SessionId) -> bool:
        try:
            return Path(self.raw_log(session)).stat().st_size > 0
        except OSError:
            return False

    def discard(self, session: SessionId) -> None:
        """Delete the folder of a session that was never stored, or is kept no longer."""
        folder = self.folder(session)
        shutil.rmtree(folder.resolve(), ignore_errors=True)
        if folder.is_symlink():
            folder.unlink()

    def with_sm(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment with our own ``sm`` first on its PATH: others have programs so called."""
        path = environment.get("PATH") or os.defpath
        return {**environment, "PATH": f"{self._home.bin / 'path'}{os.pathsep}{path}"}

    def missing_scripts(self) -> list[Path]:
        """Those that nobody could run."""
        scripts = (self._home.bin / name for name in SCRIPTS)
        return [script for script in scripts if not os.access(script, os.X_OK)]

    def write_scripts(self) -> None:
        """Agents call these by a path that stays; what they run follows each installation."""
        agents = Path(__file__).parent / "agents"
        stub = [str(agents / "stub.py"), str(self._home.socket), str(self._home.spool)]
        self._script("hook", stub, first=self._shortcut(), otherwise="exit 0")
        self._script("bell", [str(agents / "bell.py")], otherwise="exit 0")
        line = [str(agents / "statusline.py"), str(self._home.socket), str(self._home.sessions)]
        self._script("statusline", line, otherwise="exit 0")
        self._script("launch", [str(agents / "launch.py")], otherwise="exit 127")
        call = shlex.join([sys.executable, "-I", "-c", _SM])
        script = f'#!/bin/sh\nexec {call} "$@"\n'.encode()
        keep_written(self._home.bin / "path" / "sm", script, mode=0o700)

    def _script(self, name: str, call: list[str], *, first: str = "", otherwise: str) -> None:
        python = shlex.quote(sys.executable)
        line = f'[ -x {python} ] && exec {python} -I -S {shlex.join(call)} "$@"'
        script = f"#!/bin/sh\n{first}{line}\n{otherwise}\n".encode()
        keep_written(self._home.bin / name, script, mode=0o700)

    def _shortcut(self) -> str:
        """What the stub would find out too, for a fourteenth of the time: installed hooks are
        called at every tool of every agent, and mostly have nothing to report."""
        adopted = shlex.quote(str(self._home.adopted))
        return (
            'if [ "$1" = --installed ]; then\n'
            f'  [ -z "${SESSION_ID}" ] || exit 0\n'
            f'  for one in {adopted}/*; do [ -e "$one" ] || exit 0; break; done\n'
            "fi\n"
        )

    def _recovery_file(self, session: SessionId) -> Path:
        return self.folder(session) / "recovery.json"

    def _launch_file(self, session: SessionId) -> Path:
        return self.folder(session) / "launch.json"
