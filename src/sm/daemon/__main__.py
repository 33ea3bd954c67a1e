"""Starts the parent: ``python -m sm.daemon``."""

import sys

from sm.daemon.parent import run

if __name__ == "__main__":
    worker = [sys.executable, "-I", "-m", "sm.daemon.worker"]
    sys.exit(run(worker))
