"""The benchmarks are a program like any other: this shows that it works, not how fast."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_smoke_run_prints_every_figure() -> None:
    """`python -m bench --smoke` measures a little of everything and prints one table."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--smoke"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    figures = [
        "hook round trip",
        "hooks over 2 connections, 1 known",
        "daemon CPU per hook, 3 known against 1",
        "message queued → accepted, p95",
        "daemon start → first answer",
        "RSS of parent + worker, 2 idle sessions",
        "idle CPU",
        "sm version",
        "sm ls",
        "200 KB of tool results behind it",
        "read again after one more record",
        "secrets found, 5 of each of 49 kinds",
        "hits in all",
        "SessionStart with a document of 50 KB",
        "the same hook with nothing to tell",
        "redacted per CPU second",
        "cat through the foreground proxy",
    ]
    assert [name for name in figures if name not in done.stdout] == []
