"""Any command line as an agent."""

from pathlib import Path

import pytest
from tests.adapters.agents.views import view_of

from sm.adapters.agents.generic.dialect import GenericDialect
from sm.core.ids import HookId, MessageId, SessionId
from sm.core.launch import AgentLine, LaunchFailedError, LaunchRequest, MalformedHookError
from sm.core.message import Route
from sm.core.state import Attempt, Step
from sm.core.terminal import Record, Screen, Sign


def request(agent: str, cwd: Path, *arguments: str) -> LaunchRequest:
    return LaunchRequest(
        session=SessionId("abcd1234"),
        agent=agent,
        arguments=arguments,
        cwd=str(cwd),
        environment={"PATH": str(cwd / "bin")},
        folder=str(cwd / "session"),
        hook_command="/state/bin/hook",
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    program = tmp_path / "bin" / "my agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "bin" / "plain").write_text("not executable")
    return tmp_path


def test_a_command_line_is_split_as_a_shell_would(home: Path) -> None:
    line = GenericDialect().plan(request("'my agent' --fast 'a b'", home, "--more"))

    assert line == AgentLine(
        argv=(str(home / "bin" / "my agent"), "--fast", "a b", "--more"), environment={}, files={}
    )


def test_a_relative_path_means_the_callers_directory(home: Path) -> None:
    line = GenericDialect().plan(request("'./bin/my agent'", home))

    assert line.argv == (str(home / "bin" / "my agent"),)


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("nowhere --flag", "nowhere is not a program on your PATH"),
        ("./bin/none", "./bin/none is not a program"),
        ("./bin/plain", "./bin/plain is not a program"),
        ("bin/", "bin/ is not a program"),
        ("'open", "Check its quotes"),
        ("  ", "is empty"),
    ],
)
def test_what_cannot_be_started_is_refused_with_advice(home: Path, agent: str, says: str) -> None:
    with pytest.raises(LaunchFailedError, match=says):
        GenericDialect().plan(request(agent, home))


def test_it_proves_nothing() -> None:
    """Nothing on its screen or in its files is ever taken for evidence."""
    dialect = GenericDialect()
    message = MessageId("0123456789ab")
    view = view_of(["─────", "❯\xa0", "─────"], title="✳ x")

    screen = dialect.read_screen(view)

    assert screen == Screen(sign=Sign.UNKNOWN, detail="✳ x")
    assert not dialect.proves
    assert dialect.halt("over") == dialect.refuse("not now") == b""
    assert not dialect.box_holds(screen, message)
    attempt = Attempt(message=message, number=1, route=Route.PASTE, step=Step.ENTERED, since=0)
    assert dialect.search(Path("/"), attempt) is Record.OPEN
    assert dialect.read_usage(Path("/")) is None
    assert dialect.read_story(Path("/")) is None
    assert dialect.read_exchanges(Path("/"), 1) == dialect.read_shown(["❯ go"]) == ()
    assert dialect.examine(Path("/")).flaw == "its agent keeps no record that sm knows"
    assert dialect.read_status(1, 1, Path("/")) is None
    assert dialect.greeting("/inbox", "a lesson") == b""
    assert dialect.clear_command is None
    assert not dialect.is_fresh(view)
    with pytest.raises(MalformedHookError, match="a generic agent sends no hooks"):
        dialect.decode_hook(b"{}", hook=HookId("h"), at=0, answerable=False)
