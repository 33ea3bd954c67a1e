"""structlog, without the console it would load for a terminal's colours.

That is `rich` with 70 modules, 3 MB and 50 ms of every daemon's start, for a log that is a file.
"""

import sys

_console = sys.modules.get("rich")
sys.modules["rich"] = None  # type: ignore[assignment] # as if it were not installed
try:
    import structlog
finally:
    if _console is None:
        del sys.modules["rich"]
    else:
        sys.modules["rich"] = _console

__all__ = ["structlog"]
