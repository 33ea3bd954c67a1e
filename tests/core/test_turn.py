"""What ada is doing, told by hooks that come late, twice and out of order, and by her screen."""

from dataclasses import replace

import pytest

from sm.core.effects import QueueNotice, ReadActivity
from sm.core.events import (
    ActivitySeen,
    AgentExited,
    EffectFailed,
    EnterPressed,
    Event,
    MessageSought,
    StatusSeen,
)
from sm.core.ids import ContextId
from sm.core.message import MessageState, Mode
from sm.core.reports import (
    ContextCompacted,
    DialogOpened,
    PromptAccepted,
    ToolEnded,
    TurnEnded,
    TurnFailed,
)
from sm.core.state import Activity, Blocked, Source, State
from sm.core.terminal import AgentStatus, Place, Sign
from sm.core.turn import REMEMBERED_PROMPTS, SETTLED, STATUS_FOLLOWS_WITHIN
from tests.core.samples import (
    BOB,
    CONTEXT,
    ENTERED,
    HELLO,
    IDLE,
    MARK,
    NOON,
    WORKING,
    after,
    asked,
    held,
    hook,
    prompted,
    queued,
    screen,
    started,
    stopped,
    through,
    tool,
)


def test_a_turn_runs_from_its_prompt_to_its_stop() -> None:
    """ada works from the moment she reports a prompt until she reports the end."""
    working = after(IDLE, prompted(1))

    assert working.state is State.WORKING
    assert after(working, stopped(1)).state is State.IDLE


def test_a_second_stop_hook_changes_nothing() -> None:
    """The same Stop twice is one end of one turn."""
    idle = after(WORKING, stopped(0))

    assert through(idle, stopped(0)) == (idle, [])


def test_an_old_stop_does_not_park_a_working_agent() -> None:
    """The Stop of an earlier turn that comes after a newer prompt ends nothing."""
    working = after(IDLE, prompted(2, at=NOON + 10))

    assert after(working, stopped(1, at=NOON + 9)).state is State.WORKING


def test_an_old_stop_without_a_prompt_id_does_not_park_a_working_agent() -> None:
    """A client that names no prompts is judged by its clock alone."""
    working = after(IDLE, prompted(None, at=NOON + 10))

    assert after(working, stopped(None, at=NOON + 9)).state is State.WORKING
    assert after(working, stopped(None, at=NOON + 11)).state is State.IDLE


def test_a_prompt_that_comes_after_its_own_stop_starts_nothing() -> None:
    """Reordered hooks: the Stop came first, the prompt it ended is not a new turn."""
    ended = after(IDLE, stopped(1))

    assert after(ended, prompted(1)).state is State.IDLE


def test_a_message_whose_prompt_comes_after_its_stop_is_done() -> None:
    """Reordered hooks still prove that ada took it and finished."""
    session = after(ENTERED, stopped(1), prompted(1, of=HELLO))

    assert held(session).state is MessageState.DONE
    assert session.state is State.IDLE


def test_a_late_prompt_ends_no_other_message() -> None:
    """A prompt of an earlier turn comes late while ada works on HELLO: HELLO is not done."""
    working = after(ENTERED, prompted(2, of=HELLO, at=NOON + 10))

    session = after(working, stopped(1, at=NOON + 5), prompted(1, at=NOON + 1))

    assert held(session).state is MessageState.ACCEPTED
    assert session.state is State.WORKING


def test_a_message_a_person_sent_off_behind_their_own_words_has_arrived() -> None:
    """Only the one in hand: any other is merely quoted."""
    quoting = replace(prompted(1, at=NOON + 1), quoted=(HELLO.id,))

    assert held(after(ENTERED, quoting)).state is MessageState.ACCEPTED
    waiting = after(WORKING, queued())
    assert held(after(waiting, quoting)).state is MessageState.QUEUED


def test_a_newer_prompt_ends_the_turn_before_it() -> None:
    """A prompt in a running turn means that the Stop was lost or is late."""
    session = after(ENTERED, prompted(1, of=HELLO), prompted(2, at=NOON + 9))

    assert held(session).state is MessageState.DONE
    assert session.state is State.WORKING
    assert after(session, stopped(1, at=NOON + 8)).state is State.WORKING


def test_the_prompt_of_a_turn_found_in_the_transcript_does_not_end_it() -> None:
    """ada's record showed HELLO before her hook came: the hook tells of the same turn."""
    found = MessageSought(mark=MARK, place=Place.TRANSCRIPT, evidence="transcript")
    asking = replace(ENTERED, messages=(replace(held(ENTERED), sender=BOB),))
    working = after(asking, found)

    session, effects = through(working, prompted(1, of=HELLO, at=NOON + 1))

    assert held(session).state is MessageState.ACCEPTED
    assert session.state is State.WORKING
    assert effects == []


def test_a_prompt_older_than_the_running_turn_does_not_end_it() -> None:
    """Two prompts' hooks come in the wrong order: the older one is no news."""
    working = after(ENTERED, prompted(2, of=HELLO, at=NOON + 10), tool(2, at=NOON + 11))

    session = after(working, prompted(1, at=NOON + 5), tool(1, at=NOON + 6), asked(1, at=NOON + 7))

    assert session.turn == working.turn
    assert (session.state, held(session).state) == (State.WORKING, MessageState.ACCEPTED)


def test_an_older_prompt_does_not_give_its_name_to_a_turn_found_in_the_transcript() -> None:
    """HELLO's turn has no name yet: a prompt from before HELLO was typed is not its name."""
    found = MessageSought(mark=MARK, place=Place.TRANSCRIPT, evidence="transcript")
    working = after(ENTERED, found, at=NOON + 8)

    old = after(working, prompted(0, at=NOON - 5), tool(0, at=NOON - 4))
    assert old.turn == working.turn

    named = after(working, prompted(1, of=HELLO, at=NOON + 1))
    assert named.turn is not None
    assert named.turn.prompt == "P1"
    assert held(named).state is MessageState.ACCEPTED


def test_tool_hooks_of_a_turn_that_is_over_are_late() -> None:
    """A tool's report after the Stop does not make ada work again."""
    idle = after(WORKING, stopped(0))

    assert after(idle, tool(0)).state is State.IDLE
    assert after(idle, tool(3, at=NOON + 4)).state is State.IDLE, "older than the turn's end"
    assert after(idle, tool(3, at=NOON + 6)).state is State.WORKING


def test_a_dialog_waits_for_a_person_until_the_next_report() -> None:
    """A question is open from its hook until ada goes on."""
    waiting = after(WORKING, asked(0))

    assert (waiting.state, waiting.dialog) == (State.WAITING, "Bash: rm x")
    went_on = ToolEnded(hook=hook("PostToolUse", 0, NOON + 3), tool="Bash", failed=False)
    assert after(waiting, went_on).state is State.WORKING


def test_the_error_of_a_turn_is_kept_until_the_next_prompt() -> None:
    """An agent that ends just after it may have ended because of it."""
    failed = TurnFailed(hook=hook("StopFailure", 1, NOON + 5), error="rate_limit")
    refused = after(IDLE, prompted(1), failed)

    assert refused.failure == "rate_limit"
    assert after(refused, prompted(2, at=NOON + 6)).failure == ""
    assert after(refused, prompted(1, at=NOON + 6)).failure == "rate_limit", "it comes late"
    assert after(refused, prompted(2, at=NOON + 6), stopped(2, at=NOON + 7)).failure == ""


def test_a_failed_turn_is_over_and_its_error_is_told() -> None:
    """An API error ends the turn; bob, who asked, hears of it."""
    working = after(IDLE, queued(sender=BOB))
    working = after(working, prompted(1, of=HELLO))
    failed = TurnFailed(hook=hook("StopFailure", 1, NOON + 5), error="overloaded")

    session, effects = through(working, failed)

    assert session.last_words == "error: overloaded"
    assert [e.message.text for e in effects if isinstance(e, QueueNotice)] == [
        "[sm] ada stopped: error: overloaded"
    ]


def test_an_end_without_stop_is_seen_on_the_screen() -> None:
    """After an interrupt no hook comes; the prompt on the screen ends the turn."""
    working = after(ENTERED, prompted(1, of=HELLO))

    session, effects = through(working, screen(Sign.PROMPT), at=NOON + SETTLED)

    assert session.state is State.IDLE
    assert session.verdict.source is Source.SCREEN
    assert effects == [ReadActivity()], "no turn may have begun at all: its record tells"
    assert held(after(session, recorded())).state is MessageState.DONE
    broke = EffectFailed(effect="ReadActivity", error="OSError")
    assert held(after(session, broke)).state is MessageState.DONE


def recorded(*blocked: Blocked) -> ActivitySeen:
    """What the agent's record tells of its last turn."""
    return ActivitySeen(context=CONTEXT, activity=Activity(prompt=None, tool=None, blocked=blocked))


def test_a_message_that_another_hook_refused_is_not_done() -> None:
    """Ours had seen the prompt before; the model never did. Its sender is told."""
    of_bob = replace(ENTERED, messages=(replace(held(ENTERED), sender=BOB),))
    silent = after(of_bob, prompted(1, of=HELLO), screen(Sign.PROMPT), at=NOON + SETTLED)

    session, effects = through(silent, recorded(Blocked(message=HELLO.id, words="[guard]: no")))

    assert held(session).state is MessageState.REFUSED
    why = "another hook kept it from the model: [guard]: no"
    assert held(session).receipts[-1].evidence == why
    assert [e.message.text for e in effects if isinstance(e, QueueNotice)] == [
        f"[sm] ada did not get your message {HELLO.id}: {why}"
    ]


def test_a_flash_of_the_prompt_between_two_tools_ends_nothing() -> None:
    """A prompt box right after a hook may be the moment between two tool calls."""
    working = after(WORKING, tool(0, at=NOON + 1))

    assert after(working, screen(Sign.PROMPT), at=NOON + 1.5).state is State.WORKING


def test_hooks_of_a_turn_the_screen_ended_are_late() -> None:
    """The screen was right: what the turn reported before it ended is no news."""
    idle = after(WORKING, screen(Sign.PROMPT), at=NOON + 20)

    assert after(idle, tool(0), at=NOON + 21).state is State.IDLE


@pytest.mark.parametrize(
    ("sign", "state"),
    [
        (Sign.BUSY, State.WORKING),
        (Sign.DIALOG, State.WAITING),
        (Sign.PROMPT, State.IDLE),
        (Sign.UNKNOWN, State.STARTING),
    ],
)
def test_the_screen_tells_what_a_starting_agent_does(sign: Sign, state: State) -> None:
    """Without hooks the screen is the evidence; one that nobody can read is no evidence."""
    starting = replace(IDLE, ready=False, state=State.STARTING)

    assert after(starting, screen(sign)).state is state


def test_a_screen_that_can_be_seen_means_tmux_is_back() -> None:
    """A look that succeeds ends the doubt about tmux."""
    lost = replace(IDLE, lost=True, state=State.UNKNOWN)

    assert after(lost, screen(Sign.PROMPT)).state is State.IDLE


# --- contexts ------------------------------------------------------------------------------


OTHER = ContextId("another")
OTHERS = [
    PromptAccepted(hook=hook("UserPromptSubmit", 1, NOON, OTHER), message=None, opening=""),
    TurnEnded(hook=hook("Stop", 0, NOON + 5, OTHER), last_words=""),
    DialogOpened(hook=hook("PermissionRequest", 0, NOON, OTHER), question="rm x?"),
    started(context=OTHER),
]


@pytest.mark.parametrize("event", OTHERS)
def test_reports_of_another_client_are_not_adas(event: Event) -> None:
    """An agent that ada started herself inherits her hooks; its reports change nothing."""
    assert through(WORKING, event) == (WORKING, [])


def test_a_cleared_context_is_the_next_one() -> None:
    """After /clear ada is idle in context 2, with another transcript."""
    compacted = ContextCompacted(hook=hook("PostCompact", 0, NOON), trigger="auto")
    working = after(WORKING, compacted)
    assert working.context.compactions == 1

    session = after(working, started("clear", at=NOON + 1, context="context-2"))

    assert (session.context.number, session.context.id) == (2, "context-2")
    assert session.context.transcript == "/transcripts/context-2"
    assert session.context.compactions == 0
    assert session.state is State.IDLE


@pytest.mark.parametrize("event", [prompted(1), stopped(1)])
def test_a_context_whose_beginning_nobody_reported_has_a_transcript(
    event: PromptAccepted | TurnEnded,
) -> None:
    """The report was lost, on a full disk or with a daemon: any turn tells it, too."""
    unknown = replace(WORKING, context=replace(WORKING.context, transcript=None))
    telling = replace(event, hook=replace(event.hook, transcript="/t/1"))
    foreign = replace(event, hook=replace(telling.hook, context=ContextId("other")))

    assert after(unknown, telling).context.transcript == "/t/1"
    assert after(unknown, foreign).context.transcript is None
    assert after(WORKING, telling).context.transcript == "/transcripts/ada"


def test_a_compaction_does_not_end_the_turn() -> None:
    """The agent goes on in the same context."""
    session = after(WORKING, started("compact", at=NOON + 1))

    assert session.state is State.WORKING
    assert session.context.number == 1


def test_a_late_session_start_does_not_end_a_newer_turn() -> None:
    """Spooled hooks may come in any order: the start of ada herself ends none of her turns."""
    working = after(ENTERED, prompted(1, of=HELLO, at=NOON + 2))

    session = after(working, started(at=NOON + 1))

    assert session.state is State.WORKING
    assert held(session).state is MessageState.ACCEPTED
    assert session.context.transcript == f"/transcripts/{CONTEXT}"


def test_a_prompt_reported_after_the_agents_death_is_done() -> None:
    """The hook was spooled, the agent died, then the hook was read: nothing more will come."""
    dead = after(ENTERED, AgentExited(status=1, signal=None, evidence="gone"))

    session = after(dead, prompted(1, of=HELLO))

    assert held(session).state is MessageState.DONE
    assert (session.state, session.turn) == (State.CRASHED, None)


def test_only_so_many_prompts_are_remembered() -> None:
    """The memory of ended turns does not grow for ever."""
    session = IDLE
    for n in range(REMEMBERED_PROMPTS + 3):
        session = after(session, prompted(n, at=NOON + n), stopped(n, at=NOON + n + 0.5))

    assert session.ended_prompts[0] == "P3"
    assert len(session.ended_prompts) == REMEMBERED_PROMPTS


def test_an_urgent_message_is_not_held_back_by_the_pause_of_another_turn() -> None:
    """The end of a turn clears the pause after refusals."""
    refused = replace(WORKING, refusals=4).with_timer("retry", NOON + 60)

    session = after(refused, queued(mode=Mode.SEQUENTIAL), stopped(0))

    assert session.refusals == 0
    assert session.attempt is not None
    assert after(session, EnterPressed(mark="other", evidence="")) == session


# --- the agent's own word ------------------------------------------------------------------


def says(sign: Sign, *, at: float, detail: str = "") -> StatusSeen:
    return StatusSeen(status=AgentStatus(sign=sign, at=at, detail=detail))


def test_an_agent_that_says_it_is_idle_has_ended_its_turn() -> None:
    """An Escape sends no hook; the messages of the turn are done."""
    taken = after(ENTERED, prompted(1, of=HELLO))
    idle = after(taken, says(Sign.PROMPT, at=NOON + 3, detail="idle"), recorded(), at=NOON + 4)

    assert (idle.state, held(idle).state) == (State.IDLE, MessageState.DONE)
    assert held(idle).receipts[-1].evidence == "its turn ended without a word"
    acted = after(taken, tool(1, at=NOON + 1))
    idle = after(acted, says(Sign.PROMPT, at=NOON + 3, detail="idle"), at=NOON + 4)
    assert held(idle).receipts[-1].evidence == "the agent says it is idle"
    assert idle.verdict.source is Source.STATUS


def test_a_file_that_has_not_followed_a_hook_yet_is_not_believed() -> None:
    """It is written a moment after the change; one that stays as it is means what it says."""
    old = says(Sign.PROMPT, at=NOON - 60, detail="idle")

    assert after(WORKING, old, at=NOON + STATUS_FOLLOWS_WITHIN - 0.1).state is State.WORKING
    assert after(WORKING, old, at=NOON + STATUS_FOLLOWS_WITHIN).state is State.IDLE


def test_an_agent_that_says_it_waits_is_waiting_for_a_person() -> None:
    """What a hook told of the dialog says more than the file."""
    waits = says(Sign.DIALOG, at=NOON + 3, detail="permission prompt")

    assert after(WORKING, waits, at=NOON + 4).dialog == "permission prompt"
    told = after(WORKING, asked(0), waits, at=NOON + 4)
    assert (told.state, told.dialog) == (State.WAITING, "Bash: rm x")


def test_an_agent_that_says_it_is_busy_works_in_a_turn_without_a_name() -> None:
    busy = after(IDLE, says(Sign.BUSY, at=NOON + 3), at=NOON + 4)

    assert busy.turn is not None
    assert (busy.state, busy.turn.prompt, busy.turn.started_at) == (
        State.WORKING,
        None,
        NOON + 3,
    )
    answered = after(after(WORKING, asked(0)), says(Sign.BUSY, at=NOON + 3), at=NOON + 4)
    assert (answered.state, answered.turn) == (State.WORKING, WORKING.turn)


def test_a_word_nobody_knows_changes_nothing() -> None:
    assert after(WORKING, says(Sign.UNKNOWN, at=NOON + 3), at=NOON + 4).state is State.WORKING


def test_a_tool_names_a_turn_that_was_only_seen() -> None:
    seen = after(IDLE, says(Sign.BUSY, at=NOON), at=NOON)

    named = after(seen, tool(4), at=NOON + 1)

    assert named.turn is not None
    assert (named.turn.prompt, named.turn.started_at) == ("P4", NOON)
    assert after(named, stopped(4), at=NOON + 5).state is State.IDLE


def test_what_runs_in_the_background_is_that_of_the_last_turn() -> None:
    """A late report, a failed turn and a new context know nothing of it."""
    ended = TurnEnded(hook=hook("Stop", 1, NOON + 5), last_words="", tasks=("npm test",))
    session = after(WORKING, ended, at=NOON + 5)
    assert session.tasks == ("npm test",)

    assert after(session, started("clear", context="c2", at=NOON + 6), at=NOON + 6).tasks == ()
    working = after(session, prompted(2, at=NOON + 6), at=NOON + 6)
    failed = TurnFailed(hook=hook("StopFailure", 2, NOON + 7), error="overloaded")
    assert after(working, failed, at=NOON + 7).tasks == ()
    late = replace(ended, hook=hook("Stop", 0, NOON + 4), tasks=("old",))
    assert after(working, late, at=NOON + 7).tasks == ("npm test",)


def test_a_new_context_was_never_compacted() -> None:
    compacted = ContextCompacted(hook=hook("PostCompact", 1, NOON + 1), trigger="auto")
    session = after(IDLE, compacted, at=NOON + 1)
    assert session.context.compacted is not None

    assert after(session, started("clear", context="c2", at=NOON + 2)).context.compacted is None
