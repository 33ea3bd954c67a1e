"""One turn: from a submitted prompt to its end, in Claude Code's order of hooks and records.

Runs in the worker's thread. It ends with Stop, with StopFailure, or (Escape, a hook that
halts it) with neither.
"""

import os
import signal
import time
import uuid
from typing import NoReturn

from sm.adapters.agents.demo import model, view, words
from sm.adapters.agents.demo.compaction import compact
from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.hooks import Reply, first_block
from sm.adapters.agents.demo.jobs import Prompt
from sm.adapters.agents.demo.options import Options
from sm.adapters.agents.demo.stage import Stage, Waiting
from sm.adapters.agents.demo.tools import (
    AgentCall,
    BackgroundCall,
    HaltedError,
    ToolCall,
    ToolInterruptedError,
)

BLOCKS_IN_A_ROW = 8


class InterruptedTurnError(Exception):
    """Escape was pressed."""


class ApiRefusedError(Exception):
    """The model's service answered with an error."""


class Turn:
    def __init__(
        self, talk: Conversation, stage: Stage, *, script: model.Script, options: Options
    ) -> None:
        self._talk = talk
        self._stage = stage
        self._script = script
        self._options = options
        self._steps: list[model.Step] = []
        self._spoke = False
        self._last_words = ""
        self._blocks = 0
        self._is_woken = False

    def run(self, prompt: Prompt) -> str | None:
        """Do one prompt; returns it when it was taken back before any output."""
        started = time.monotonic()
        self._is_woken = prompt.told is not None
        self._talk.begin_prompt()
        replies = self._talk.fire("UserPromptSubmit", prompt=prompt.text)
        block = first_block(replies)
        if block is not None:
            self._stage.show(f"  ⎿  UserPromptSubmit blocked by a hook: {block}\n")
            return None
        self._accept(prompt, replies)
        return self._guarded(prompt, started)

    def _accept(self, prompt: Prompt, replies: list[Reply]) -> None:
        by_person = prompt.told is None
        self._talk.transcript.prompt(prompt.text, self._talk.prompt_id, by_person=by_person)
        for reason, given in self._talk.take_owed():
            self._talk.give(reason, via="stop again", given=given)
        told, via = (prompt.text, "prompt") if prompt.told is None else (prompt.told, "wake")
        self._talk.give(told, via=via, given=prompt.text)
        self._talk.tell(replies, hook="UserPromptSubmit")
        for late in self._talk.hooks.take_late():
            self._talk.give(late, via="hook in the background")

    def _guarded(self, prompt: Prompt, started: float) -> str | None:
        try:
            self._think(prompt.text if prompt.told is None else prompt.told)
        except ToolInterruptedError:
            return None
        except InterruptedTurnError:
            return self._interrupted(prompt)
        except ApiRefusedError as refused:
            self._refused(str(refused))
        except HaltedError:
            pass
        took = int((time.monotonic() - started) * 1000)
        self._talk.transcript.system("turn_duration", durationMs=took, isMeta=False)
        return None

    def _think(self, prompt: str) -> None:
        self._steps = self._script.steps(prompt, "\n".join(self._talk.known))
        while True:
            while self._steps:
                self._pause(self._options.delay)
                if self._talk.context.is_full:
                    compact(self._talk, self._stage, trigger="auto")
                self._do(self._steps.pop(0))
            feedback = self._stop()
            if feedback is None:
                return
            self._steps = model.steps(feedback)

    def _do(self, step: model.Step) -> None:
        match step:
            case model.Say(text):
                self._say(text)
            case model.Work(seconds):
                self._pause(seconds)
            case model.Tool(command, ask):
                notify_after = self._options.dialog_notice if ask else None
                self._use(ToolCall(self._talk, self._stage, command), notify_after)
            case model.Task():
                self._go_on(step)
            case model.Agent(command):
                self._use(AgentCall(self._talk, self._stage, command))
            case model.Background(command):
                self._use(BackgroundCall(self._talk, self._stage, command))
            case model.Usage(tokens):
                self._talk.context.pin(tokens)
            case model.Fail(error):
                raise ApiRefusedError(error)
            case model.Crash(how):
                _crash(how)
            case model.Output(count):
                self._spoke = True
                self._stage.show("\n".join(f"line {n}" for n in range(1, count + 1)))
            case model.Command(name):
                self._stage.queue(Waiting(name, name))

    def _go_on(self, task: model.Task) -> None:
        """The next step of a task, by all that is known in this context."""
        number = task.next("\n".join(self._talk.known))
        if number > task.last:
            self._say("All steps are done.")
        else:
            self._say(f"Step {number}.")
            self._do(task.numbered(number))
            self._steps.insert(0, task)

    def _pause(self, seconds: float) -> None:
        if self._stage.interrupt.wait(seconds):
            raise InterruptedTurnError

    def _say(self, text: str) -> None:
        self._spoke = True
        self._last_words = text
        self._talk.reply({"type": "text", "text": text}, text, stop_reason="end_turn")
        self._talk.context.add(text)
        self._stage.show(f"● {text}\n")

    def _use(self, call: ToolCall, notify_after: float | None = None) -> None:
        self._spoke = True
        for text in call.run(notify_after=notify_after):
            self._steps.extend(model.directives(text))
        for waiting in self._stage.take_prompts():
            self._take_queued(waiting)

    def _take_queued(self, waiting: Waiting) -> None:
        """Given with a tool result: no UserPromptSubmit tells of it, only the record."""
        self._stage.show(view.announced(waiting))
        record = self._talk.transcript
        record.queue_operation("remove")
        record.attachment(
            type="queued_command",
            prompt=waiting.text,
            commandMode="prompt" if waiting.by_person else "task-notification",
            timestamp=waiting.at,
        )
        told = waiting.text if waiting.told is None else waiting.told
        given = words.queued(waiting.text, by_person=waiting.by_person)
        self._talk.give(told, via="queued", given=given)
        self._steps.extend(model.steps(told))

    def _stop(self) -> str | None:
        """The end, unless a hook has more for the model to do."""
        replies = self._talk.fire(
            "Stop",
            stop_hook_active=self._blocks > 0 or self._is_woken,
            last_assistant_message=self._last_words,
            background_tasks=self._talk.background_tasks(),
            session_crons=[],
        )
        told = [] if self._blocks >= BLOCKS_IN_A_ROW else self._told_to_go_on(replies)
        self._summarise(replies)
        if not told:
            return None
        self._blocks += 1
        return "\n".join(told)

    def _told_to_go_on(self, replies: list[Reply]) -> list[str]:
        reasons = [self._feed_back(reply) for reply in replies if reply.block is not None]
        added = self._talk.tell([r for r in replies if r.block is None], hook="Stop")
        for text in added:
            self._show_stop(f"Stop hook feedback: {text}")
        return [*reasons, *added]

    def _feed_back(self, reply: Reply) -> str:
        reason = reply.block or ""
        record = self._talk.transcript
        record.user(words.feedback(reason), self._talk.prompt_id, isMeta=True)
        record.attachment(
            type="hook_blocking_error",
            hookName="Stop",
            toolUseID=str(uuid.uuid4()),
            hookEvent="Stop",
            blockingError={"blockingError": reason, "command": reply.command},
        )
        self._show_stop(f"Stop hook error: {reason}")
        self._talk.give(reason, via="stop", given=words.feedback(reason))
        self._talk.owed.append((reason, words.blocked(reply.command, reason)))
        return reason

    def _show_stop(self, text: str) -> None:
        first = text.split("\n", 1)[0]
        self._stage.show(f"● Ran 1 stop hook (ctrl+o to expand)\n  ⎿  {first}\n")

    def _summarise(self, replies: list[Reply]) -> None:
        if not replies:
            return
        self._talk.transcript.system(
            "stop_hook_summary",
            hookCount=len(replies),
            hookInfos=[{"command": reply.command} for reply in replies],
            hookErrors=[e for r in replies if (e := r.block or r.error)],
            hookAdditionalContext=[r.context for r in replies if r.context],
            preventedContinuation=False,
            stopReason="",
            hasOutput=any(reply.stdout.strip() or reply.error for reply in replies),
            level="suggestion",
            toolUseID=str(uuid.uuid4()),
        )

    def _interrupted(self, prompt: Prompt) -> str | None:
        if not self._spoke:
            # What woke the agent was never in the box, and does not go back there.
            return prompt.text if prompt.told is None else None
        self._stage.show("  ⎿  Interrupted · What should Claude do instead?\n")
        said = [{"type": "text", "text": "[Request interrupted by user]"}]
        self._talk.transcript.user(said, self._talk.prompt_id)
        return None

    def _refused(self, error: str) -> None:
        text = f"API Error: {error}"
        self._talk.transcript.api_error(text, error)
        self._stage.show(f"● {text}\n")
        self._talk.fire("StopFailure", error=error, last_assistant_message=text)


def _signal(word: str) -> signal.Signals:
    """By its number or name, as ``kill`` takes them."""
    if word.isdecimal():
        return signal.Signals(int(word))
    return signal.Signals[word if word.startswith("SIG") else f"SIG{word}"]


def _crash(how: str) -> NoReturn:
    """Die as told: ``exit N``, a signal's name or number, by default SIGKILL."""
    word, _, code = how.partition(" ")
    if word == "exit":
        os._exit(int(code or 1))
    os.kill(os.getpid(), _signal(word or "KILL"))
    # A signal the agent handles ends it from the main thread, in its own time.
    while True:
        time.sleep(1)
