"""What an agent was doing, in a line."""

import pytest

from sm.core.exchange import SM, Deed, Exchange, Result, Role, doing

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
