"""Starts the parent: ``python -m sm.daemon``; with ``--service``, as the system does."""

import sys

from sm.daemon import parent, supervised

if __name__ == "__main__":
    worker = [sys.executable, "-I", "-m", "sm.daemon.worker"]
    sys.exit(supervised.run(worker) if "--service" in sys.argv[1:] else parent.run(worker))
