"""What Claude Code's hooks are answered, in the form it reads from a hook's output."""

import msgspec

from sm.core.reports import HookEvent

_encode = msgspec.json.Encoder().encode


def greeting(inbox: str | None, lesson: str = "") -> bytes:
    """The answer to SessionStart: the client watches these paths and reports changes there."""
    told: dict[str, object] = {}
    if inbox is not None:
        told["watchPaths"] = [inbox]
    if lesson:
        told["additionalContext"] = lesson
    if not told:
        return b""
    return _encode({"hookSpecificOutput": {"hookEventName": "SessionStart", **told}})


def halt(reason: str) -> bytes:
    """The answer to a tool's result that ends the turn; the client shows the reason."""
    return _encode({"continue": False, "stopReason": reason})


def refuse(reason: str) -> bytes:
    """The answer that keeps the client from what it is about to do."""
    return _encode({"decision": "block", "reason": reason})


def answer(event: HookEvent, text: str) -> bytes:
    """The answer that gives the model a text: with a tool's result, or to go on with.

    Not ``decision: block``: the client calls that an error on its screen, and tells the model of
    it a second time with the next prompt.
    """
    output = {"hookEventName": event.hook.name, "additionalContext": text}
    return _encode({"hookSpecificOutput": output})
