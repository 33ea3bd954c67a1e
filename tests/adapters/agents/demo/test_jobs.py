"""What a submitted text means."""

import pytest

from sm.adapters.agents.demo.jobs import Clear, Compact, Exit, Job, Prompt, RunShell, job_for


@pytest.mark.parametrize(
    ("text", "job"),
    [
        ("hello", Prompt("hello")),
        ("/clear", Clear()),
        ("/compact keep the names", Compact()),
        ("/exit", Exit()),
        ("/nonsense", None),
        ("/nonsense with words", None),
        ("/tmp/x is a path", Prompt("/tmp/x is a path")),
        (" /clear", Prompt(" /clear")),
        ("hello\n/clear", Prompt("hello\n/clear")),
        ("!ls -l", RunShell("ls -l")),
        (" !ls", Prompt(" !ls")),
        ("# a note", Prompt("# a note")),
    ],
)
def test_a_text_is_a_command_a_shell_line_or_a_prompt(text: str, job: Job | None) -> None:
    found = job_for(text)

    assert found == job
    assert type(found) is type(job)
