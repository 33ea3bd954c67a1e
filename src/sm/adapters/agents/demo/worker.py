"""The thread that does one job after the other, so that hooks and tools never hold up the keys."""

import threading
import traceback
from queue import SimpleQueue

from sm.adapters.agents.demo import words
from sm.adapters.agents.demo.compaction import compact
from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.jobs import (
    Clear,
    Compact,
    Exit,
    Job,
    Prompt,
    RunShell,
    Start,
    TellIdle,
)
from sm.adapters.agents.demo.model import Script
from sm.adapters.agents.demo.options import Options
from sm.adapters.agents.demo.stage import (
    Broken,
    ClearScreen,
    Finished,
    Leave,
    Rung,
    Show,
    Stage,
    Waiting,
)
from sm.adapters.agents.demo.transcript import MODEL, now
from sm.adapters.agents.demo.turn import Turn
from sm.adapters.agents.demo.view import echo
from sm.adapters.agents.demo.watching import Watcher


class Worker:
    def __init__(
        self, talk: Conversation, stage: Stage, *, script: Script, options: Options
    ) -> None:
        self._talk = talk
        self._stage = stage
        self._script = script
        self._options = options
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._watcher = Watcher(self._file_changed)
        talk.show = stage.show
        talk.hooks.on_wake = self._woken

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def give(self, job: Job) -> None:
        self._jobs.put(job)

    def _run(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                restore = self._do(job)
            except Exception:  # noqa: BLE001 - a dead thread would look like a turn without end
                self._stage.post(Broken(traceback.format_exc()))
                return
            # Reports of a start or of idleness are not work: nobody waits for their end.
            if not isinstance(job, Start | TellIdle):
                self._stage.post(Finished(restore, turn=isinstance(job, Prompt)))

    def _do(self, job: Job) -> str | None:
        match job:
            case Start():
                self._begin(source=self._talk.source)
            case Prompt():
                return self._turn().run(job)
            case Clear():
                self._clear()
            case Compact():
                self._talk.begin_prompt()
                compact(self._talk, self._stage, trigger="manual")
            case Exit():
                self._stage.post(Leave("prompt_input_exit"))
            case RunShell(command):
                self._run_shell(command)
            case TellIdle():
                message = "Claude is waiting for your input"
                kind = "idle_prompt"
                self._talk.fire("Notification", message=message, notification_type=kind)
        return None

    def _turn(self) -> Turn:
        return Turn(self._talk, self._stage, script=self._script, options=self._options)

    def _begin(self, *, source: str) -> None:
        model = {"model": MODEL} if source == "startup" else {}
        replies = self._talk.fire("SessionStart", source=source, **model)
        self._talk.tell(replies, hook=f"SessionStart:{source}")
        for reply in replies:
            self._watcher.watch(reply.watch_paths)
        self._talk.on_reply()

    def _file_changed(self, path: str, event: str) -> None:
        self._talk.fire("FileChanged", file_path=path, event=event)

    def _woken(self, hook: str, text: str) -> None:
        """A hook in the background has something for the model: it waits in the queue."""
        told = words.notification(hook, text)
        self._talk.transcript.queue_operation("enqueue", told)
        self._stage.queue(Waiting(told, "Stop hook feedback", told=text, at=now()))
        self._stage.post(Rung())

    def _clear(self) -> None:
        self._talk.begin_prompt()
        self._talk.fire("SessionEnd", reason="clear")
        self._talk.renew()
        prompt_id = self._talk.prompt_id
        record = self._talk.transcript
        caveat = "<local-command-caveat>Caveat: local commands follow.</local-command-caveat>"
        record.user(caveat, prompt_id, isMeta=True)
        record.user("<command-name>/clear</command-name>", prompt_id)
        self._stage.post(ClearScreen())
        self._begin(source="clear")
        # Last: a prompt box below this echo is one that can be typed into.
        self._stage.post(Show(echo("/clear")))

    def _run_shell(self, command: str) -> None:
        from sm.adapters.agents.demo import shell

        self._talk.begin_prompt()
        try:
            ran = shell.run(command, cwd=self._talk.cwd, interrupt=self._stage.interrupt)
        except shell.StoppedError:
            self._stage.show("  ⎿  Interrupted\n")
            return
        record = self._talk.transcript
        record.user(f"<bash-input>{command}</bash-input>", self._talk.prompt_id)
        output = f"<bash-stdout>{ran.stdout}</bash-stdout><bash-stderr>{ran.stderr}</bash-stderr>"
        record.user(output, self._talk.prompt_id)
        self._stage.show((ran.stdout + ran.stderr).rstrip("\n") + "\n")
