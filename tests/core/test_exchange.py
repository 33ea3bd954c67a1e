"""What an agent was doing, in a line."""

from dataclasses import replace

import pytest

from sm.core.exchange import SM, Deed, Exchange, Result, Role, doing, with_ended

MAKE = Exchange(role=Role.CALLED, tool="Bash", text="make all", deed=Deed.COMMAND)
DONE = Result()


def call(tool: str, text: str, deed: Deed, result: Result | None = None) -> Exchange:
    return Exchange(role=Role.CALLED, tool=tool, text=text, deed=deed, result=result)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (MAKE, "running `make all`"),
        (call("Bash", "make", Deed.COMMAND, DONE), "ran `make`"),
        (call("Read", "src/auth/handler.go", Deed.LOOK), "reading file src/auth/handler.go"),
        (call("Grep", "TODO", Deed.LOOK), "calling Grep TODO"),
        (call("Edit", "a.py", Deed.CHANGE), "changing file a.py"),
        (call("AskUserQuestion", "Left or right?", Deed.QUESTION), "asking: Left or right?"),
        (Exchange(role=Role.SAID, text="All\n done."), "said: All done."),
        (Exchange(role=Role.ASKED, text="Port it"), "was asked: Port it"),
        (Exchange(role=Role.SUMMED, text="…"), "had compacted its context"),
    ],
)
def test_the_last_thing_on_record_says_what_it_was_at(last: Exchange, words: str) -> None:
    """A person who reads the list knows at once where each agent was."""
    assert doing((Exchange(role=Role.ASKED, text="before"), last)) == words


def test_what_the_client_notes_is_nothing_the_agent_does() -> None:
    assert doing((MAKE, Exchange(role=Role.NOTED, text="API Error"))) == "running `make all`"
    assert doing(()) == ""


def test_what_sm_says_itself_is_no_request() -> None:
    asked = Exchange(role=Role.ASKED, text="Read the handoff", sender=SM)

    assert not asked.is_request
    assert Exchange(role=Role.ASKED, text="Port it", sender="bob").is_request


TOLD = Result(is_recorded=False)


def test_a_call_that_only_a_hook_told_the_end_of_is_over() -> None:
    """An agent is killed before it writes down what came of it: it is not to be done again."""
    begun = replace(MAKE, call="t1", at=5.0)

    (known,) = with_ended([begun], [replace(begun, at=5.2, result=TOLD)])

    assert known == replace(begun, result=TOLD)
    assert known.is_unwritten
    assert not known.is_cut


def test_a_call_that_the_record_lacks_altogether_comes_after_it() -> None:
    asked = Exchange(role=Role.ASKED, text="Port it", at=4.0)
    later = Exchange(role=Role.ASKED, text="And then rest", at=9.0, is_waiting=True)
    unknown = replace(MAKE, call="t2", at=6.0, result=TOLD)

    assert with_ended([asked, later], [unknown]) == (asked, later, unknown)


def test_what_is_on_record_is_believed_before_any_hook() -> None:
    """Older calls than were read, and those that have their results, are told as they stand."""
    done = replace(MAKE, call="t1", at=5.0, result=Result(output="ok"))
    older = replace(MAKE, call="t0", at=4.0, result=TOLD)

    assert with_ended([done], [older, replace(done, result=TOLD)]) == (done,)
