"""One turn: from a submitted prompt to its end, in Claude Code's order of hooks and records.

Runs in the worker's thread. It ends with Stop, with StopFailure, or (Escape) with neither.
"""

import os
import signal
import time
from typing import NoReturn

from sm.adapters.agents.demo import model, view
from sm.adapters.agents.demo.compaction import compact
from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.hooks import first_block
from sm.adapters.agents.demo.options import Options
from sm.adapters.agents.demo.stage import Stage
from sm.adapters.agents.demo.tools import ToolCall, ToolInterruptedError

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

    def run(self, prompt: str) -> str | None:
        """Do one prompt; returns it when it was taken back before any output."""
        started = time.monotonic()
        self._talk.begin_prompt()
        replies = self._talk.fire("UserPromptSubmit", prompt=prompt)
        block = first_block(replies)
        if block is not None:
            self._stage.show(f"  ⎿  UserPromptSubmit blocked by a hook: {block}\n")
            return None
        self._talk.transcript.prompt(prompt, self._talk.prompt_id)
        self._talk.give(prompt, via="prompt")
        self._talk.tell(replies, hook="UserPromptSubmit")
        return self._guarded(prompt, started)

    def _guarded(self, prompt: str, started: float) -> str | None:
        try:
            self._think(prompt)
        except ToolInterruptedError:
            return None
        except InterruptedTurnError:
            return self._interrupted(prompt)
        except ApiRefusedError as refused:
            self._refused(str(refused))
        took = int((time.monotonic() - started) * 1000)
        self._talk.transcript.system("turn_duration", durationMs=took, isMeta=False)
        return None

    def _think(self, prompt: str) -> None:
        self._steps = self._script.steps(prompt)
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
                self._use_tool(command, ask=ask)
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
                self._stage.queue(name, name)

    def _pause(self, seconds: float) -> None:
        if self._stage.interrupt.wait(seconds):
            raise InterruptedTurnError

    def _say(self, text: str) -> None:
        self._spoke = True
        self._last_words = text
        usage = self._talk.context.usage(text)
        block = {"type": "text", "text": text}
        self._talk.transcript.assistant(block, usage, stop_reason="end_turn")
        self._talk.context.add(text)
        self._stage.show(f"● {text}\n")

    def _use_tool(self, command: str, *, ask: bool) -> None:
        self._spoke = True
        call = ToolCall(self._talk, self._stage, command)
        added = call.run(notify_after=self._options.dialog_notice if ask else None)
        for text in added:
            self._steps.extend(model.directives(text))
        for waiting in self._stage.take_prompts():
            self._take_queued(waiting.text, waiting.shown)

    def _take_queued(self, text: str, shown: str) -> None:
        """Given with a tool result: no UserPromptSubmit tells of it, only the record."""
        self._stage.show(view.echo(shown))
        self._talk.transcript.attachment(type="queued_command", prompt=text, commandMode="prompt")
        self._talk.give(text, via="queued")
        self._steps.extend(model.steps(text))

    def _stop(self) -> str | None:
        """The end, unless a hook has more for the model to do."""
        replies = self._talk.fire(
            "Stop",
            stop_hook_active=self._blocks > 0,
            last_assistant_message=self._last_words,
            background_tasks=[],
            session_crons=[],
        )
        reason = first_block(replies)
        if self._blocks >= BLOCKS_IN_A_ROW:
            return None
        added = self._talk.tell(replies, hook="Stop")
        if reason is None and not added:
            return None
        self._blocks += 1
        return added[0] if reason is None else self._feed_back(reason)

    def _feed_back(self, reason: str) -> str:
        text = f"Stop hook feedback:\n{reason}"
        self._talk.transcript.user(text, self._talk.prompt_id, isMeta=True)
        self._talk.give(text, via="stop")
        return text

    def _interrupted(self, prompt: str) -> str | None:
        if not self._spoke:
            return prompt
        self._stage.show("  ⎿  Interrupted · What should Claude do instead?\n")
        said = [{"type": "text", "text": "[Request interrupted by user]"}]
        self._talk.transcript.user(said, self._talk.prompt_id)
        return None

    def _refused(self, error: str) -> None:
        text = f"API Error: {error}"
        self._talk.transcript.api_error(text, error)
        self._stage.show(f"● {text}\n")
        self._talk.fire("StopFailure", error=error, last_assistant_message=text)


def _crash(how: str) -> NoReturn:
    """Die as told: ``exit N``, a signal's name or number, by default SIGKILL."""
    word, _, code = how.partition(" ")
    if word == "exit":
        os._exit(int(code or 1))
    number = signal.Signals[word] if word.startswith("SIG") else signal.Signals(int(word or 9))
    os.kill(os.getpid(), number)
    # A signal the agent handles ends it from the main thread, in its own time.
    while True:
        time.sleep(1)
