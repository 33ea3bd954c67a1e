"""What the scripted model does with the text it gets."""

import pytest

from sm.adapters.agents.demo.model import (
    Agent,
    Background,
    Command,
    Crash,
    Fail,
    Output,
    Say,
    Script,
    Step,
    Tool,
    Usage,
    Work,
    steps,
)
from sm.core import envelope
from sm.core.ids import MessageId


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("%say hello  you", Say("hello  you")),
        ("%work 0.5", Work(0.5)),
        ("%work soon", Work(0.0)),
        ("%tool echo %d", Tool("echo %d", ask=False)),
        ("%ask rm x", Tool("rm x", ask=True)),
        ("%usage 1500", Usage(1500)),
        ("%fail overloaded", Fail("overloaded")),
        ("%fail", Fail("unknown")),
        ("%crash", Crash("")),
        ("%crash exit 3", Crash("exit 3")),
        ("%output 20", Output(20)),
        ("%agent ls -l", Agent("ls -l")),
        ("%background sleep 9", Background("sleep 9")),
        ("%clear", Command("/clear")),
    ],
)
def test_a_line_with_a_percent_sign_is_done(line: str, step: Step) -> None:
    assert steps(f"please\n{line}\n")[0] == step


def test_directives_are_done_in_order_and_end_with_words() -> None:
    assert steps("%work 1\n%tool ls") == [Work(1.0), Tool("ls", ask=False), Say("Done.")]
    assert steps("%tool ls\n%say bye") == [Tool("ls", ask=False), Say("bye")]


def test_text_without_directives_gets_a_friendly_answer() -> None:
    assert steps("\n  hello\nworld") == [Say('Got it: "hello"')]
    assert steps("x" * 100) == [Say('Got it: "' + "x" * 59 + '…"')]
    assert steps("%nonsense") == [Say('Got it: "%nonsense"')]


def test_an_envelope_is_opened() -> None:
    sent = envelope.wrap(MessageId("0123456789ab"), "ada", "do this")

    assert steps(sent) == [Say('Got it: "do this"')]


def test_a_script_is_followed_prompt_by_prompt() -> None:
    script = Script("%say one\n---\n%say two\n%work 1\n")

    assert script.steps("a") == [Say("one")]
    assert script.steps("%say mine") == [Say("mine")]
    assert script.steps("b") == [Say("two"), Work(1.0), Say("Done.")]
    assert script.steps("c") == [Say('Got it: "c"')]
    assert Script("").steps("d") == [Say('Got it: "d"')]
