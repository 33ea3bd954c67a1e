"""Runs one agent here: ``python -m sm.wrapper FD``, with a file of what ``sm run`` was asked."""

import os
import sys

from sm.api.runs import parse_request
from sm.wrapper.root import main

if __name__ == "__main__":
    with os.fdopen(int(sys.argv[1]), encoding="utf-8") as file:
        request = parse_request(file.read())
    sys.exit(main(request))
