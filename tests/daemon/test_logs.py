"""The daemon's log file, written by a process of its own: it configures all of logging."""

import json
import stat
import subprocess
import sys
from pathlib import Path

from sm.settings.home import Home

WRITE = """
import logging, os, sys
from pathlib import Path
from sm.log import structlog
from sm.daemon.logs import configure
from sm.settings.config import load
from sm.settings.home import Home
os.umask(0)
home = Home.from_environment()
configure(home, load(home.config))
log = structlog.get_logger()
{body}
"""


def _write(tmp_path: Path, body: str, config: str = "") -> Home:
    home = Home(tmp_path, tmp_path / "config.toml", tmp_path, is_default=False)
    home.config.write_text(config)
    environment = {"SM_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-I", "-c", WRITE.format(body=body)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return home


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_line_is_json_with_time_and_level(tmp_path: Path) -> None:
    """Ours and those of libraries alike."""
    body = 'log.info("Serving", port=1); logging.getLogger("uvicorn").warning("hot %s", "sun")'
    home = _write(tmp_path, body)

    ours, theirs = _lines(home.log)

    assert ours.pop("timestamp")
    assert theirs.pop("timestamp")
    assert ours == {"event": "Serving", "level": "info", "port": 1}
    assert theirs == {"event": "hot sun", "level": "warning"}


def test_a_failure_is_one_line_with_its_traceback(tmp_path: Path) -> None:
    """Nothing tears the file's form."""
    body = "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    log.error('A', exc_info=e)"
    home = _write(tmp_path, body)

    [line] = _lines(home.log)

    assert "ZeroDivisionError" in str(line["exception"])


def test_the_level_is_the_configured_one(tmp_path: Path) -> None:
    """Quieter than that is not written."""
    body = 'log.info("quiet"); log.warning("loud"); logging.getLogger("x").info("quiet")'
    home = _write(tmp_path, body, '[daemon]\nlog_level = "warning"\n')

    assert [line["event"] for line in _lines(home.log)] == ["loud"]


def test_the_file_is_rotated_and_three_old_ones_are_kept(tmp_path: Path) -> None:
    """However much is written, the disk does not fill."""
    body = 'for n in range(500): log.info("x" * 100, n=n)'
    home = _write(tmp_path, body, '[daemon]\nlog_size = "5KB"\n')

    found = sorted(home.logs.iterdir())

    assert [path.name for path in found] == [
        "daemon.log", "daemon.log.1", "daemon.log.2", "daemon.log.3",
    ]  # fmt: skip
    assert all(path.stat().st_size <= 5000 for path in found)
    assert _lines(home.log)[-1]["n"] == 499


def test_logging_leaves_the_umask_to_others(tmp_path: Path) -> None:
    """What else a process writes is not the log's business."""
    home = _write(tmp_path, 'log.info("x", umask=os.umask(0))')

    assert _lines(home.log)[0]["umask"] == 0


def test_the_log_is_closed_to_others(tmp_path: Path) -> None:
    """Also after a rotation."""
    body = 'for n in range(50): log.info("x" * 100)'
    home = _write(tmp_path, body, '[daemon]\nlog_size = "1KB"\n')

    assert len(list(home.logs.iterdir())) > 1
    assert stat.S_IMODE(home.logs.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.logs.iterdir()} == {0o600}
