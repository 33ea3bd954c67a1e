"""The shape of the project: every module has its test file, every command its module and test."""

from importlib import import_module
from pathlib import Path

import pytest

from sm.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src" / "sm", ROOT / "tests"
COVERED = ("core", "redaction", "settings", "api", "adapters", "engine", "web", "daemon", "cli",
           "install")  # fmt: skip
"""Packages in which every module has a test file of its own name."""
MODULES = sorted(
    path.relative_to(SOURCE)
    for package in COVERED
    for path in (SOURCE / package).rglob("*.py")
    if path.name != "__init__.py" and "migrations" not in path.parts
)


def _test_of(module: Path) -> Path:
    return TESTS / module.with_name(f"test_{module.stem.strip('_')}.py")


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_has_its_test_file(module: Path) -> None:
    """Where a thing is, its tests are found without a search."""
    assert _test_of(module).is_file()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_a_module_with_a_test(command: str) -> None:
    """One command, one file, one test file; each says what it does and shows an example."""
    module = import_module(f"sm.cli.{command}")

    assert module.__doc__
    assert module.EXAMPLE
    assert callable(module.run)
    assert callable(module.add_arguments)
    assert (TESTS / "cli" / f"test_{command}.py").is_file()
