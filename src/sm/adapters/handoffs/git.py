"""The state of a working directory, as git tells it.

Only looks: takes no lock, asks nobody for a password, starts none of the repository's programs
that it can be told not to, and gives up soon.
"""

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

PATIENCE = 2.0
"""Seconds for all questions together: the agent waits for its next context meanwhile."""
LONGEST = 200_000
"""Bytes of one answer that are kept."""
# A diff would write the index in spite of GIT_OPTIONAL_LOCKS.
_SETTINGS = (
    "core.fsmonitor=false", "core.quotePath=false", "diff.autoRefreshIndex=false",
    "log.showSignature=false",
)  # fmt: skip
_HANDED_ON = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")


class GitError(Exception):
    """git is there and could not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTree:
    branch: str
    """As ``git status`` words it: with its upstream, or that there is no commit yet."""
    commit: str | None
    changes: tuple[str, ...]
    """One line per changed or unknown file."""
    diffstat: str

    @property
    def text(self) -> str:
        commit = f"commit: {self.commit}\n" if self.commit else ""
        status = "".join(f"{line}\n" for line in self.changes) or "nothing changed\n"
        diffstat = f"\n## git diff --stat HEAD\n{self.diffstat}\n" if self.diffstat else ""
        return f"branch: {self.branch}\n{commit}\n## git status --short\n{status}{diffstat}"


def look(cwd: str, patience: float = PATIENCE) -> WorkTree | None:
    """None where there is no repository, or no git."""
    deadline = time.monotonic() + patience
    status = _ask(cwd, deadline, "status", "--short", "--branch")
    if status is None:
        return None
    branch, *changes = status.splitlines() or [""]
    is_new = branch.startswith("## No commits yet")
    return WorkTree(
        branch=branch.removeprefix("## "),
        commit=None if is_new else _ask(cwd, deadline, "log", "-1", "--format=%H %s"),
        changes=tuple(changes),
        diffstat="" if is_new else _diffstat(cwd, deadline),
    )


def _diffstat(cwd: str, deadline: float) -> str:
    shape = ("--no-ext-diff", "--no-textconv", "--stat", "HEAD")
    return _ask(cwd, deadline, "diff", *shape) or ""


def _ask(cwd: str, deadline: float, *question: str) -> str | None:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    # Files, not pipes: a program that git left behind would hold a pipe open.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                ["git", "--no-pager", "-C", cwd, *settings, *question],
                stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                cwd="/", env=_environment(), start_new_session=True,
            )  # fmt: skip
        except FileNotFoundError:
            return None
        status = _wait(process, deadline)
        output.seek(0)
        errors.seek(0)
        answer = output.read(LONGEST).decode(errors="replace").rstrip()
        trouble = errors.read(LONGEST).decode(errors="replace").strip()
    if status == 0:
        return answer
    if "not a git repository" in trouble:
        return None
    raise GitError(trouble.splitlines()[0] if trouble else f"git ended with status {status}")


def _wait(process: subprocess.Popen[bytes], deadline: float) -> int:
    try:
        return process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        # With whatever it started: a session of its own, which is still there unreaped.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise GitError("git took too long") from None


def _environment() -> dict[str, str]:
    """Nothing of ours that would point git elsewhere."""
    kept = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    return {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
