"""A program in a pane: raw mode, bracketed paste on request, every byte it gets into a file."""

import os
import sys
import tty
from pathlib import Path

received, greeting = sys.argv[1:3]
tty.setraw(0)
with Path(received).open("ab", buffering=0) as log:
    os.write(1, greeting.encode().decode("unicode_escape").encode())
    while data := os.read(0, 1 << 16):
        log.write(data)
