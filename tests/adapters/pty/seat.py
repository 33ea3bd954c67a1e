"""Becomes the program named, leading a session of its own on the terminal that is its stdin."""

import fcntl
import os
import sys
import termios

os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
