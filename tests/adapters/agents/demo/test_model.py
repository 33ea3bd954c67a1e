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
    Task,
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
        ("%task 3 echo {}", Task(3, "echo {}")),
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


def test_a_task_goes_on_behind_the_last_step_one_knows_of() -> None:
    """However it is told: what it did itself, or what a document says it did."""
    task = Task(9, "echo step {} >> f")

    assert task.next("") == 1
    assert task.next("`echo step 2 >> f` and `echo step 10 >> f`, but echo step 11 > f") == 11
    assert task.numbered(4) == Tool("echo step 4 >> f", ask=False)


def test_a_number_may_stand_in_several_places() -> None:
    """It is the same in all of them."""
    task = Task(9, "echo {} >> f; seq {}; true")

    assert task.next(f"`{task.numbered(3).command}`") == 4
    assert task.next("echo 3 >> f; seq 5; true") == 1


def test_a_step_without_a_result_is_done_again() -> None:
    """After a crash one is told which command may not have run; done again, it is done."""
    task = Task(9, "echo step {} >> f")
    cut = "[you called] Bash `echo step 3 >> f`: no result on record"
    told = f"`echo step 2 >> f`: ok\n{cut}\nBash `echo step 3 >> f` has no result."

    assert task.next(told) == 3
    assert task.next(f"{told}\necho step 3 >> f") == 4


def test_after_a_crash_the_past_is_not_done_anew() -> None:
    """What it is told of its conversation holds the directives of old."""
    opening = "You were working on a task when your session crashed. Here it is:\n"
    past = "%task 9 echo {}\n%crash\n[you called] Bash `echo 1`: ok\n"

    assert steps(f"{opening}{past}") == [Task(9, "echo {}"), Say("Done.")]
    assert steps(f"{opening}%crash") == [Say(f'Got it: "{opening[:59]}…"')]


def test_without_directives_the_task_that_is_known_goes_on() -> None:
    """As a person wrote it, or as a document quotes it."""
    known = "# Goal\n\n> %task 2 echo old {}\n    %task 3 echo {}\n"

    assert steps("Continue.", known) == [Task(3, "echo {}"), Say("Done.")]
    assert steps("%say no", known) == [Say("no")]
    assert steps("Continue.", "a % task 3 x, 50 %task 3 y") == [Say('Got it: "Continue."')]
    assert Script("a").steps("b", known) == [Say('Got it: "a"')]
