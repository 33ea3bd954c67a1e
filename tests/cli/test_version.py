"""sm version"""

from sm.version import VERSION
from tests.kit.sm import Sm


def test_the_version_is_printed(sm: Sm) -> None:
    """As words, as JSON, and by the usual flag."""
    assert sm.run("version") == sm.run("--version") == f"sm {VERSION}\n"
    assert sm.json("version") == {"version": VERSION}
