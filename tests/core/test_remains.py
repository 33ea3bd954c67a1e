"""What is left of a crashed session."""

from dataclasses import replace

from sm.core.crash import Cause, Crash
from sm.core.exchange import SM, Deed, Exchange, Result, Role
from sm.core.remains import CRASHED, Remains, Shown
from sm.core.story import Request, Story, Todo, Unfinished

CRASH = Crash(at=1.0, cause=Cause.SIGNAL, words="the agent was ended by signal 9", dialog="Run x?")
ASKED = Exchange(role=Role.ASKED, text="Port it")
CALL = Exchange(role=Role.CALLED, tool="Bash", text="make", deed=Deed.COMMAND)
REPLY = Exchange(role=Role.SAID, text="Done.")
QUIET = replace(CRASH, dialog=None)


def remains(*exchanges: Exchange, crash: Crash = QUIET) -> Remains:
    return Remains(name="ada", context=1, cwd="/shop", crash=crash, now=2.0, exchanges=exchanges)


def test_only_what_was_begun_since_the_last_request_counts_as_cut() -> None:
    """A call that an earlier crash cut was dealt with since."""
    typed = replace(ASKED, is_waiting=True)

    assert remains(ASKED, CALL, ASKED, REPLY).cut == ()
    assert remains(ASKED, REPLY, CALL).cut == (CALL,)
    assert remains(ASKED, CALL, typed).cut == (CALL,)
    assert remains(CALL).cut == (CALL,)


def test_what_an_agent_was_told_to_be_cut_is_not_told_again() -> None:
    """It crashed before, has been told so, and goes on without any new request."""
    note = replace(ASKED, sender=SM, text=f"{CRASHED}, and sm has resumed it: so and so.")
    notice = replace(ASKED, sender=SM, text="bob stopped: done")
    later = replace(CALL, text="make test")

    assert remains(ASKED, CALL, note, REPLY, later).cut == (later,)
    assert remains(ASKED, CALL, notice, later).cut == (CALL, later)


def test_a_request_is_unanswered_when_nothing_came_after_it() -> None:
    assert remains(REPLY, ASKED).unanswered == ASKED
    assert remains(REPLY, ASKED, replace(ASKED, is_waiting=True)).unanswered == ASKED
    assert remains(ASKED, REPLY).unanswered is None
    assert remains().unanswered is None


def test_something_is_open_when_anything_at_all_was_cut() -> None:
    quiet = remains(ASKED, REPLY)

    assert not quiet.is_open
    assert remains(ASKED, REPLY, crash=replace(QUIET, busy=True)).is_open
    assert remains(ASKED, REPLY, crash=CRASH).is_open
    assert remains(ASKED).is_open
    assert replace(quiet, unrecorded=("hello",)).is_open
    assert remains(ASKED, REPLY, replace(ASKED, is_waiting=True)).is_open


def test_nothing_of_an_older_context_is_open() -> None:
    """What was cut in it may be done long since."""
    for last in (CALL, ASKED, replace(ASKED, is_waiting=True)):
        older = replace(remains(ASKED, last), is_older=True)

        assert (older.cut, older.unanswered, older.waiting) == ((), None, ())
        assert not older.is_open


def test_every_text_can_be_changed_at_once() -> None:
    """Whoever takes secrets out must miss none of them."""
    secret = "hunter2"
    whole = replace(
        remains(
            replace(ASKED, text=secret),
            replace(CALL, text=secret, result=Result(output=secret)),
            crash=replace(CRASH, words=secret, dialog=secret),
        ),
        story=Story(
            todos=(Todo(text=secret),), unfinished=(Unfinished(kind="task", what=secret, at=1.0),)
        ),
        carried=(Request(text=secret, at=1.0),),
        delivered=(Request(text=secret, at=1.0),),
        unrecorded=(secret,),
        shown=Shown(source="the log", lines=("first", secret)),
        handoff=secret,
        git=secret,
        survivors=(secret,),
        background=(secret,),
    )

    clean = whole.mapped(lambda text: text.replace(secret, "***"))

    assert secret in repr(whole)
    assert secret not in repr(clean)
    assert clean.shown == Shown(source="the log", lines=("first", "***"))
    assert whole.mapped(lambda text: text) == whole
