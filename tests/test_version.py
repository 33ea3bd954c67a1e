"""One version, told alike by the package, the program and its metadata."""

from importlib.metadata import version

from sm.version import VERSION


def test_the_installed_package_has_the_version_the_program_tells() -> None:
    assert version("agent-sm") == VERSION
