"""The demo agent's command line: what it takes, and what it says when asked or misused."""

import re
from typing import get_args

import pytest

from sm.adapters.agents.demo.model import Step, directives
from sm.adapters.agents.demo.options import Options, parse


def test_without_options_nothing_is_made_difficult() -> None:
    """Left alone it is a plain agent: no lost Enters, no slow start, Claude Code's waits."""
    assert parse([]) == Options(
        session_id=None,
        resume=None,
        settings=None,
        name="Demo agent",
        window=200_000,
        script=None,
        delay=0.05,
        received=None,
        swallow_enter=0,
        slow_start=0.0,
        dialog_notice=6.0,
        idle_notice=60.0,
        record_delay=0.1,
        prompt=None,
    )


def test_every_option_arrives_as_what_it_means() -> None:
    """Numbers come as numbers, and the one word without an option is the first prompt."""
    texts = "--session-id s --resume r --settings f --name n --script w --received g"
    numbers = "--window 9 --delay 1.5 --swallow-enter 2 --slow-start 3 --dialog-notice 4"
    line = f"{texts} {numbers} --idle-notice 5 --record-delay 6 hello".split()

    assert parse(line) == Options(
        "s", "r", "f", "n", 9, "w", 1.5, "g", 2, 3.0, 4.0, 5.0, 6.0, "hello"
    )


@pytest.mark.parametrize("line", ["--window much", "--model opus", "two prompts"])
def test_a_line_it_does_not_understand_is_refused(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped option ends the program with a usage line; it is never guessed at."""
    with pytest.raises(SystemExit) as refused:
        parse(line.split())

    assert refused.value.code == 2
    assert capsys.readouterr().err.startswith("usage: demo ")


def test_the_help_names_everything_the_model_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever writes a script finds every directive in --help, and no invented one."""
    with pytest.raises(SystemExit):
        parse(["--help"])
    _, _, told = capsys.readouterr().out.partition("Lines of a prompt")
    steps = [directives(f"%{word} 1") for word in re.findall(r"%(\w+)", told)]

    assert all(steps)
    assert {type(step) for (step,) in steps} == set(get_args(Step))
