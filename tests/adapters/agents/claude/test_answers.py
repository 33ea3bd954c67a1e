"""What Claude Code's hooks are answered: the forms the real client was seen to obey."""

import json

from sm.adapters.agents.claude.answers import answer, greeting, halt, refuse
from sm.core.ids import HookId
from sm.core.reports import Hook, ToolEnded, TurnEnded

TEXT = 'say "hello" ❯\nthen go on'


def hook(name: str) -> Hook:
    return Hook(id=HookId("h1"), name=name, at=0.0, context=None)


def test_a_turns_end_is_answered_with_what_to_go_on_with() -> None:
    """Not with a block: the client would show an error and tell the model twice."""
    told = answer(TurnEnded(hook=hook("Stop"), last_words=""), TEXT)

    output = {"hookEventName": "Stop", "additionalContext": TEXT}
    assert json.loads(told) == {"hookSpecificOutput": output}


def test_a_tools_end_is_answered_beside_its_result() -> None:
    """The event is named again: the client ignores an answer that names another."""
    for name in ("PostToolUse", "PostToolUseFailure"):
        told = answer(ToolEnded(hook=hook(name), tool="Bash", failed=False), TEXT)

        output = {"hookEventName": name, "additionalContext": TEXT}
        assert json.loads(told) == {"hookSpecificOutput": output}


def test_a_turn_is_ended_at_a_tools_result() -> None:
    """The client shows the reason, and asks its model no more."""
    assert json.loads(halt(TEXT)) == {"continue": False, "stopReason": TEXT}


def test_a_compaction_is_refused() -> None:
    assert json.loads(refuse(TEXT)) == {"decision": "block", "reason": TEXT}


def test_a_contexts_start_is_answered_with_the_inbox_to_watch() -> None:
    told = json.loads(greeting("/home/a b/inbox"))

    output = {"hookEventName": "SessionStart", "watchPaths": ["/home/a b/inbox"]}
    assert told == {"hookSpecificOutput": output}


def test_without_an_inbox_nothing_is_answered() -> None:
    assert greeting(None) == b""


def test_a_contexts_start_teaches_what_the_agent_should_know() -> None:
    """Beside its inbox, or alone."""
    output = {"hookEventName": "SessionStart", "additionalContext": TEXT}
    assert json.loads(greeting(None, TEXT)) == {"hookSpecificOutput": output}

    both = json.loads(greeting("/inbox", TEXT))["hookSpecificOutput"]
    assert (both["watchPaths"], both["additionalContext"]) == (["/inbox"], TEXT)
