"""Runs one agent here: ``python -m sm.wrapper REQUEST``, with what ``sm run`` was asked as JSON."""

import sys

from sm.wrapper.root import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
