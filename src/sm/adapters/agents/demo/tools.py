"""One Bash call of the model: its hooks, its dialog, its result, its records."""

import time
import uuid
from queue import Empty, SimpleQueue
from typing import NoReturn

from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.hooks import Reply
from sm.adapters.agents.demo.stage import Ask, CloseDialog, Stage

_SHOWN_LINES = 4
_RESULT_LENGTH = 30_000
_INTERRUPTED = "  ⎿  Interrupted · What should Claude do instead?\n"


class ToolInterruptedError(Exception):
    """A person stopped the tool, or did not allow it."""


class ToolCall:
    def __init__(self, talk: Conversation, stage: Stage, command: str) -> None:
        self._talk = talk
        self._stage = stage
        self._command = command
        self.id = f"toolu_{uuid.uuid4().hex[:24]}"
        self._input = {"command": command, "description": "demo"}
        self._added: list[str] = []

    def run(self, *, notify_after: float | None) -> list[str]:
        """Everything from the request to the result; what hooks added for the model.

        ``notify_after``: a person must allow it, and is reminded after so many seconds.
        """
        usage = self._talk.context.usage(self._command)
        block = {"type": "tool_use", "id": self.id, "name": "Bash", "input": self._input}
        self._talk.transcript.assistant(block, usage, stop_reason="tool_use")
        self._stage.show(f"● Bash({self._command})")
        before = self._fire("PreToolUse", tool_use_id=self.id)
        if notify_after is not None and not self._is_allowed(notify_after):
            self._refuse()
        self._execute(before)
        return self._added

    def _fire(self, event: str, **fields: object) -> list[Reply]:
        return self._talk.fire(event, tool_name="Bash", tool_input=self._input, **fields)

    def _tell(self, replies: list[Reply], hook: str) -> None:
        self._added += self._talk.tell(replies, hook=hook, tool_use=self.id)

    def _is_allowed(self, notify_after: float) -> bool:
        replies = self._fire("PermissionRequest", permission_suggestions=[])
        for reply in replies:
            decision = reply.specific.get("decision")
            if isinstance(decision, dict):
                return decision.get("behavior") == "allow"
        answer: SimpleQueue[bool] = SimpleQueue()
        self._stage.post(Ask(self._command, answer))
        try:
            return self._wait(answer, notify_after)
        finally:
            self._stage.post(CloseDialog())

    def _wait(self, answer: "SimpleQueue[bool]", notify_after: float) -> bool:
        try:
            return answer.get(timeout=notify_after)
        except Empty:
            message = "Claude needs your permission"
            kind = "permission_prompt"
            self._talk.fire("Notification", message=message, notification_type=kind)
            return answer.get()

    def _execute(self, before: list[Reply]) -> None:
        from sm.adapters.agents.demo import shell

        started = time.monotonic()
        try:
            ran = shell.run(self._command, cwd=self._talk.cwd, interrupt=self._stage.interrupt)
        except shell.StoppedError:
            self._refuse()
        took = int((time.monotonic() - started) * 1000)
        self._stage.show(_shortened(ran.stdout + ran.stderr))
        if ran.code == 0:
            text, after = self._succeed(ran.stdout.rstrip("\n"), ran.stderr, took)
        else:
            text = f"Exit code {ran.code}\n{ran.stdout}{ran.stderr}".strip()
            after = self._fail(text, took)
        self._tell(before, "PreToolUse:Bash")
        self._tell(after, "PostToolUse:Bash" if ran.code == 0 else "PostToolUseFailure:Bash")
        self._finish_batch(text)

    def _succeed(self, stdout: str, stderr: str, took: int) -> tuple[str, list[Reply]]:
        response = {"stdout": stdout, "stderr": stderr, "interrupted": False}
        known = {"tool_use_id": self.id, "duration_ms": took}
        replies = self._fire("PostToolUse", tool_response=response, **known)
        text = stdout or "(Bash completed with no output)"
        self._record(text, is_error=False, result=response)
        return text, replies

    def _fail(self, error: str, took: int) -> list[Reply]:
        known = {"tool_use_id": self.id, "duration_ms": took}
        replies = self._fire("PostToolUseFailure", error=error, is_interrupt=False, **known)
        self._record(error, is_error=True, result=f"Error: {error}")
        return replies

    def _finish_batch(self, text: str) -> None:
        call = {"tool_name": "Bash", "tool_input": self._input, "tool_use_id": self.id}
        replies = self._talk.fire("PostToolBatch", tool_calls=[{**call, "tool_response": text}])
        self._tell(replies, "PostToolBatch")

    def _refuse(self) -> NoReturn:
        self._stage.show(_INTERRUPTED)
        self._record("The user doesn't want to proceed with this tool use.", is_error=True)
        said = [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
        self._talk.transcript.user(said, self._talk.prompt_id)
        raise ToolInterruptedError

    def _record(self, text: str, *, is_error: bool, result: object = None) -> None:
        content = text[:_RESULT_LENGTH]
        block = {"type": "tool_result", "tool_use_id": self.id, "content": content}
        fields = {"toolUseResult": result} if result is not None else {}
        blocks = [{**block, "is_error": is_error}]
        self._talk.transcript.user(blocks, self._talk.prompt_id, **fields)
        self._talk.context.add(content)


def _shortened(output: str) -> str:
    lines = output.rstrip("\n").split("\n") if output.strip() else ["(No output)"]
    more = [f"… +{len(lines) - _SHOWN_LINES} lines"] if len(lines) > _SHOWN_LINES else []
    first, *rest = [*lines[:_SHOWN_LINES], *more]
    return "\n".join([f"  ⎿  {first}", *(f"     {line}" for line in rest), ""])
