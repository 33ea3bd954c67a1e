"""Finding programs as the caller's shell would."""

from pathlib import Path

from sm.adapters.agents.program import find_program


def make(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_first_folder_on_the_path_wins(tmp_path: Path) -> None:
    first, second = make(tmp_path / "a" / "tool"), make(tmp_path / "b" / "tool")
    path = {"PATH": f"{first.parent}:{second.parent}"}

    assert find_program("tool", cwd="/", environment=path) == str(first)


def test_a_relative_folder_on_the_path_is_the_callers(tmp_path: Path) -> None:
    tool = make(tmp_path / "a" / "tool")

    assert find_program("tool", cwd=str(tmp_path), environment={"PATH": "a"}) == str(tool)
    assert find_program("tool", cwd="/", environment={"PATH": "a"}) is None


def test_without_a_path_the_systems_own_is_used() -> None:
    assert find_program("sh", cwd="/", environment={}) in ("/bin/sh", "/usr/bin/sh")


def test_an_absolute_path_needs_no_path_variable(tmp_path: Path) -> None:
    tool = make(tmp_path / "a" / "tool")

    assert find_program(str(tool), cwd="/", environment={}) == str(tool)
    assert find_program(str(tmp_path), cwd="/", environment={}) is None
