"""Files a command line plainly writes."""

import pytest

from sm.core.redirections import written_by


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("echo 1 > out.txt", ["out.txt"]),
        ("a >> log/x.log && b > y.md", ["log/x.log", "y.md"]),
        ("make 2>&1 | tee -a build.log", ["build.log"]),
        ("cmd &> all.log", ["all.log"]),
        ("cat > a.txt <<'EOF'\nx > y.txt\nEOF\n", ["a.txt"]),
        ("echo x > a.txt; cat b > a.txt", ["a.txt"]),
    ],
)
def test_redirected_output_is_a_file_written(command: str, paths: list[str]) -> None:
    assert written_by(command) == paths


@pytest.mark.parametrize(
    "command",
    ["ls", "cmd 2>err.log", "cmd > /dev/null 2>&1", "python -c 'a > b'", 'echo "x > y"',
     "test 3 > 4", "f() { a => b; }", "x -> y", "cat <<EOF\na > b.txt\nEOF"],
)  # fmt: skip
def test_what_only_looks_like_it_is_none(command: str) -> None:
    assert written_by(command) == []
