"""The real Claude Code client: where it is, a home in which it starts without questions.

Installed from npm once, into a cache. It runs with nothing of the caller's environment, a key that
opens nothing, and no way to any address but loopback.
"""

import fcntl
import functools
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.kit.tmux import Tmux, wait_until
from tests.kit.untested import leave_untested

PACKAGE = "@anthropic-ai/claude-code"
VERSION = os.environ.get("SM_TEST_CLAUDE_VERSION", "2.1.197")
"""The one our facts were found with."""
KEY = "sk-ant-dummy-key-for-tests-0123456789"
REPOSITORY = Path(__file__).parents[2]
BOX = "❯\u00a0"
"""The prompt box; a dialog's pointer has a plain space after it."""


class ClaudeMissingError(Exception):
    """The client is not here and could not be brought; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeHome:
    """Where one client lives."""

    home: Path
    config: Path
    cwd: Path
    """A trusted working directory."""
    environment: Mapping[str, str]
    """All of it: to be used with ``env -i``."""


def require_claude() -> Path:
    """The client's program. Skips the test where there is none, but never in CI."""
    try:
        return install_claude()
    except ClaudeMissingError as error:
        leave_untested(f"THE REAL CLAUDE CODE WAS NOT TESTED: {error}")


def find_claude() -> Path | None:
    try:
        return install_claude()
    except ClaudeMissingError:
        return None


@functools.cache
def install_claude() -> Path:
    cache = Path(os.environ.get("SM_TEST_CACHE") or REPOSITORY / ".cache" / "claude")
    with _only_one(cache):
        mark = cache / f".installed-{VERSION}"
        if not mark.exists():
            _npm_install(cache)
            mark.touch()
    return _program(cache)


def claude_home(tmp_path: Path, api_url: str, *, cwd: Path | None = None) -> ClaudeHome:
    """Make a home in which the interactive client comes up at its prompt, without a dialog."""
    home, config = tmp_path / "home", tmp_path / "home" / ".claude"
    cwd = (cwd or tmp_path / "work").resolve()
    for folder in (config, cwd):
        folder.mkdir(parents=True, exist_ok=True)
    seed = {
        "hasCompletedOnboarding": True,
        "projects": {str(cwd): {"hasTrustDialogAccepted": True}},
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
    }
    (config / ".claude.json").write_text(json.dumps(seed))
    environment = _environment(home, config, api_url)
    return ClaudeHome(home=home, config=config, cwd=cwd, environment=environment)


def start_claude(tmux: Tmux, home: ClaudeHome, *arguments: str | Path) -> str:
    """Run the client in a pane, up to its empty prompt box; the pane's id."""
    argv = [require_claude(), *arguments]
    pane = tmux.start(argv, environment=home.environment, cwd=home.cwd)
    wait_until(lambda: BOX in tmux.screen(pane), 30, seen=lambda: tmux.screen(pane))
    wait_until(lambda: list((home.config / "sessions").glob("*.json")), 30)
    return pane


def submit(tmux: Tmux, pane: str, prompt: str) -> None:
    """Paste a prompt of one line and press Enter once it stands in the box."""
    tmux.paste(pane, prompt)
    shown = f"{BOX}{prompt}"[:60]
    wait_until(lambda: shown in tmux.screen(pane), seen=lambda: tmux.screen(pane))
    tmux.press(pane, "Enter")


def _environment(home: Path, config: Path, api_url: str) -> dict[str, str]:
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(config),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": api_url,
        "ANTHROPIC_API_KEY": KEY,
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
        # What still wants to go out meets a closed door on this machine.
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "NO_PROXY": "127.0.0.1,localhost",
    }


@contextmanager
def _only_one(cache: Path) -> Iterator[None]:
    """Test runs side by side share the cache: the first installs, the others wait."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _npm_install(cache: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise ClaudeMissingError("npm is not installed")
    done = subprocess.run(
        [npm, "install", "--prefix", cache, "--no-audit", "--no-fund", f"{PACKAGE}@{VERSION}"],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise ClaudeMissingError(f"npm could not install it: {done.stderr[-500:]}")


def _program(cache: Path) -> Path:
    modules = cache / "node_modules"
    cpu = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    native = modules / f"{PACKAGE}-{sys.platform}-{cpu}" / "claude"
    program = native if native.exists() else modules / PACKAGE / "bin" / "claude.exe"
    if not program.exists():
        raise ClaudeMissingError(f"npm installed no program at {program}")
    return program


if __name__ == "__main__":  # To fill the cache before the tests: python -m tests.kit.claude
    sys.stdout.write(f"{install_claude()}\n")
