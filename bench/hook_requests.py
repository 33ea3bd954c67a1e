"""Hook calls as bytes, ready to be sent: what Claude Code reports around a tool call."""

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

PAYLOAD_BYTES = 1000
TOOLS = ("Bash", "Read", "Edit", "Grep")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A session that can be reported to."""

    session: str
    context: str


@dataclass(frozen=True, slots=True)
class Request:
    """One call but for its id and time, which are new at each sending."""

    opening: bytes
    rest: bytes

    def stamped(self, hook: bytes) -> bytes:
        stamp = b"X-Sm-Hook: %s\r\nX-Sm-At: %.6f\r\n\r\n" % (hook, time.time())
        return self.opening + stamp + self.rest


def hook_ids() -> Iterator[bytes]:
    """As the stub makes them: 16 random hex digits."""
    chance = random.Random()
    while True:
        yield b"%016x" % chance.getrandbits(64)


def requests(target: Target) -> list[Request]:
    """Beginnings and ends of tool calls, each of another tool: an event sm must store."""
    return [request for tool in TOOLS for request in _tool_call(target, tool)]


def _tool_call(target: Target, tool: str) -> tuple[Request, Request]:
    common = {
        **_common(target),
        "tool_name": tool,
        "tool_input": {"command": "pytest -q tests/test_app.py", "description": "Run the tests"},
        "tool_use_id": "toolu_01XyZabcdefghijklmnopqrst",
    }
    output = "tests/test_app.py ........................ [100%]\n"
    fill = output * (PAYLOAD_BYTES // len(output) + 1)
    before = {"hook_event_name": "PreToolUse", **common}
    after = {"hook_event_name": "PostToolUse", **common, "duration_ms": 1834}
    answer = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
    room = PAYLOAD_BYTES - len(json.dumps({**after, "tool_response": answer}))
    answer["stdout"] = fill[: max(0, room)]
    return _request(target, before), _request(target, {**after, "tool_response": answer})


def stop_request(target: Target) -> Request:
    """The end of the turn that the tool calls belong to."""
    payload = {"hook_event_name": "Stop", **_common(target), "last_assistant_message": "Done."}
    return _request(target, payload)


def _common(target: Target) -> dict[str, object]:
    return {
        "session_id": target.context,
        "transcript_path": f"/home/ada/.claude/projects/-home-ada-app/{target.context}.jsonl",
        "cwd": "/home/ada/app",
        "permission_mode": "acceptEdits",
        "prompt_id": f"{target.session}-0000-4000-8000-000000000001",
    }


def _request(target: Target, payload: dict[str, object]) -> Request:
    body = json.dumps(payload).encode()
    head = (
        f"POST /hooks/{target.session} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    )
    return Request(head.encode(), body)
