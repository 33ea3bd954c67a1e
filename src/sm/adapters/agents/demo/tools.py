"""One tool call of the model: its hooks, its dialog, its result, its records."""

import contextlib
import threading
import time
import uuid
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn

from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.hooks import Reply
from sm.adapters.agents.demo.stage import Ask, CloseDialog, ShellsChanged, Stage

if TYPE_CHECKING:
    from sm.adapters.agents.demo import shell

_SHOWN_LINES = 4
_RESULT_LENGTH = 30_000
_INTERRUPTED = "  ⎿  Interrupted · What should Claude do instead?\n"


class ToolInterruptedError(Exception):
    """A person stopped the tool, or did not allow it."""


class HaltedError(Exception):
    """A hook ended the turn at a tool's result."""


class ToolCall:
    """A Bash call; other tools differ in what they do and answer."""

    name = "Bash"

    def __init__(self, talk: Conversation, stage: Stage, command: str) -> None:
        self._talk = talk
        self._stage = stage
        self._command = command
        self.id = f"toolu_{uuid.uuid4().hex[:24]}"
        self._input = self._asked(command)
        self._added: list[str] = []

    def _asked(self, command: str) -> dict[str, Any]:
        return {"command": command, "description": "demo"}

    def run(self, *, notify_after: float | None) -> list[str]:
        """Everything from the request to the result; what hooks added for the model.

        ``notify_after``: a person must allow it, and is reminded after so many seconds.
        """
        block = {"type": "tool_use", "id": self.id, "name": self.name, "input": self._input}
        self._talk.reply(block, self._command, stop_reason="tool_use")
        self._show(f"● {self.name}({self._command})")
        before = self._fire("PreToolUse", tool_use_id=self.id)
        if notify_after is not None and not self._is_allowed(notify_after):
            self._refuse()
        self._execute(before)
        return self._added

    def _show(self, text: str) -> None:
        # What a sub-agent does is not shown.
        if self._talk.agent_id is None:
            self._stage.show(text)

    def _fire(self, event: str, **fields: object) -> list[Reply]:
        return self._talk.fire(event, tool_name=self.name, tool_input=self._input, **fields)

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

    def _act(self) -> "shell.Ran":
        """Do what the tool is for. Raises StoppedError when a person stops it."""
        from sm.adapters.agents.demo import shell

        return shell.run(self._command, cwd=self._talk.cwd, interrupt=self._stage.interrupt)

    def _execute(self, before: list[Reply]) -> None:
        from sm.adapters.agents.demo import shell

        started = time.monotonic()
        try:
            ran = self._act()
        except shell.StoppedError:
            self._refuse()
        took = int((time.monotonic() - started) * 1000)
        self._show(_shortened(ran.stdout + ran.stderr))
        if ran.code == 0:
            text, after = self._succeed(ran.stdout.rstrip("\n"), ran.stderr, took)
        else:
            text = f"Exit code {ran.code}\n{ran.stdout}{ran.stderr}".strip()
            after = self._fail(text, took)
        event = "PostToolUse" if ran.code == 0 else "PostToolUseFailure"
        self._tell(before, f"PreToolUse:{self.name}")
        # Claude Code lets no turn be ended at a failure.
        halting = [reply for reply in after if reply.halt is not None and ran.code == 0]
        self._tell([reply for reply in after if reply not in halting], f"{event}:{self.name}")
        self._halt([reply.halt or "" for reply in halting])
        self._finish_batch(text)

    def _halt(self, reasons: list[str]) -> None:
        """The model is not asked again; no other hook tells of it."""
        hook = f"PostToolUse:{self.name}"
        for reason in reasons:
            self._show(f"  ⎿  {hook} hook stopped continuation: {reason}\n")
            self._talk.transcript.attachment(
                type="hook_stopped_continuation",
                message=reason,
                hookName=hook,
                toolUseID=self.id,
                hookEvent="PostToolUse",
            )
        if reasons:
            raise HaltedError

    def _response(self, stdout: str, stderr: str) -> dict[str, Any]:
        return {"stdout": stdout, "stderr": stderr, "interrupted": False}

    def _succeed(self, stdout: str, stderr: str, took: int) -> tuple[str, list[Reply]]:
        response = self._response(stdout, stderr)
        known = {"tool_use_id": self.id, "duration_ms": took}
        replies = self._fire("PostToolUse", tool_response=response, **known)
        text = stdout or f"({self.name} completed with no output)"
        self._record(text, is_error=False, result=response)
        return text, replies

    def _fail(self, error: str, took: int) -> list[Reply]:
        known = {"tool_use_id": self.id, "duration_ms": took}
        replies = self._fire("PostToolUseFailure", error=error, is_interrupt=False, **known)
        self._record(error, is_error=True, result=f"Error: {error}")
        return replies

    def _finish_batch(self, text: str) -> None:
        call = {"tool_name": self.name, "tool_input": self._input, "tool_use_id": self.id}
        replies = self._talk.fire("PostToolBatch", tool_calls=[{**call, "tool_response": text}])
        self._tell(replies, "PostToolBatch")

    def _refuse(self) -> NoReturn:
        self._show(_INTERRUPTED)
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


class AgentCall(ToolCall):
    """A sub-agent that runs the command: with hooks, a record and a context of its own."""

    name = "Agent"

    def _asked(self, command: str) -> dict[str, Any]:
        return {"description": "demo", "prompt": command, "subagent_type": "general-purpose"}

    def _act(self) -> "shell.Ran":
        from sm.adapters.agents.demo import shell

        agent = self._talk.sub_agent()
        self._agent = agent
        agent.fire("SubagentStart")
        agent.transcript.user(self._command, agent.prompt_id)
        try:
            ToolCall(agent, self._stage, self._command).run(notify_after=None)
        except ToolInterruptedError:
            raise shell.StoppedError from None
        agent.reply({"type": "text", "text": "sub done"}, "sub done", stop_reason="end_turn")
        agent.fire(
            "SubagentStop",
            stop_hook_active=False,
            agent_transcript_path=str(agent.transcript.path),
            last_assistant_message="sub done",
            background_tasks=[],
            session_crons=[],
        )
        return shell.Ran(0, "sub done", "")

    def _response(self, stdout: str, stderr: str) -> dict[str, Any]:
        return {
            "status": "completed",
            "prompt": self._command,
            "agentId": self._agent.agent_id,
            "agentType": "general-purpose",
            "content": [{"type": "text", "text": stdout + stderr}],
            "totalTokens": self._agent.context.tokens,
            "totalToolUseCount": 1,
        }


class BackgroundCall(ToolCall):
    """A command that goes on while the conversation does."""

    def _asked(self, command: str) -> dict[str, Any]:
        return {**super()._asked(command), "run_in_background": True}

    def _act(self) -> "shell.Ran":
        from sm.adapters.agents.demo import shell

        task = f"b{uuid.uuid4().hex[:8]}"
        self._talk.background[task] = self._command
        self._stage.post(ShellsChanged())

        def run() -> None:
            with contextlib.suppress(OSError):
                shell.run(self._command, cwd=self._talk.cwd)
            del self._talk.background[task]
            self._stage.post(ShellsChanged())

        threading.Thread(target=run, daemon=True).start()
        return shell.Ran(0, f"Command running in background with ID: {task}", "")


def _shortened(output: str) -> str:
    lines = output.rstrip("\n").split("\n") if output.strip() else ["(No output)"]
    more = [f"… +{len(lines) - _SHOWN_LINES} lines"] if len(lines) > _SHOWN_LINES else []
    first, *rest = [*lines[:_SHOWN_LINES], *more]
    return "\n".join([f"  ⎿  {first}", *(f"     {line}" for line in rest), ""])
