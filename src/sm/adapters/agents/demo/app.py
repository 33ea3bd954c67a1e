"""The demo agent's main thread: keys in, frames out.

It waits for the terminal and for the worker, and for nothing else: hooks, tools and the model's
thinking happen in the worker's thread.
"""

import contextlib
import os
import select
import signal
import sys
import termios
import time
from pathlib import Path
from typing import NoReturn

from sm.adapters.agents.demo import cells, jobs, stage, view
from sm.adapters.agents.demo.box import Box
from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.footer import Footer
from sm.adapters.agents.demo.keys import Key, Keys, Paste, Press, Text
from sm.adapters.agents.demo.model import Script
from sm.adapters.agents.demo.options import Options
from sm.adapters.agents.demo.status import Status
from sm.adapters.agents.demo.terminal import Terminal
from sm.adapters.agents.demo.transcript import now
from sm.adapters.agents.demo.worker import Worker

AGAIN_WITHIN = 1.0
ESCAPE_WAIT = 0.03
TITLE_PERIOD = 1.0
_EXIT_CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 0}


class App:
    def __init__(
        self, options: Options, talk: Conversation, terminal: Terminal, status: Status
    ) -> None:
        self._options = options
        self._talk = talk
        self._terminal = terminal
        self._status = status
        self._keys = Keys()
        self._box = Box()
        self._stash: Box | None = None
        self._busy = False
        self._dialog: stage.Ask | None = None
        self._selected = 0
        self._notice = ""
        self._pressed: dict[Key, float] = {}
        self._enters_to_swallow = options.swallow_enter
        self._idle_notice_at: float | None = None
        self._output: list[str] = []
        self._dirty = True
        self._wake_read, wake_write = os.pipe()
        for fd in (self._wake_read, wake_write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_write)
        self._stage = stage.Stage(wake_write)
        script = Script(Path(options.script).read_text("utf-8") if options.script else "")
        self._worker = Worker(talk, self._stage, script=script, options=options)
        self._status_line = ""
        self._footer = Footer(talk, self._tell_footer, name=options.name)
        talk.on_reply = self._footer.refresh

    def run(self) -> NoReturn:
        for number in (*_EXIT_CODES, signal.SIGWINCH):
            # The number itself arrives through the wake-up pipe.
            signal.signal(number, lambda *_: None)
        self._terminal.enter()
        self._show(f"✻ Demo agent · {self._talk.cwd}\n  Replies without a model. /exit to leave.\n")
        self._draw()
        self._worker.start()
        self._footer.start()
        self._worker.give(jobs.Start())
        if self._options.prompt:
            self._begin(_typed(self._options.prompt, self._options.prompt))
        while True:
            try:
                self._draw()
            except OSError:
                # The terminal is gone; its hang-up signal may still be on the way.
                self._leave("other", 129)
            self._wait()

    # --- waiting ---------------------------------------------------------------------------

    def _wait(self) -> None:
        ready, _, _ = select.select([self._terminal.fd, self._wake_read], [], [], self._patience())
        if self._wake_read in ready:
            self._awake()
        if self._terminal.fd in ready:
            self._read()
        elif self._keys.escape_pending:
            self._press_all(self._keys.escape())
        if self._idle_notice_at is not None and time.monotonic() >= self._idle_notice_at:
            self._idle_notice_at = None
            self._worker.give(jobs.TellIdle())

    def _patience(self) -> float | None:
        if self._keys.escape_pending:
            return ESCAPE_WAIT
        if self._busy:
            return TITLE_PERIOD - time.monotonic() % TITLE_PERIOD
        if self._idle_notice_at is not None:
            return max(0.0, self._idle_notice_at - time.monotonic())
        return None

    def _awake(self) -> None:
        # Signals put their number into the pipe, the worker a zero.
        for number in os.read(self._wake_read, 4096):
            if number in _EXIT_CODES:
                self._leave("other", _EXIT_CODES[signal.Signals(number)])
        for note in self._stage.notes():
            self._note(note)
        self._dirty = True

    def _read(self) -> None:
        try:
            read = os.read(self._terminal.fd, 65536)
        except OSError:
            read = b""
        if not read:
            self._leave("other", 129)
        self._press_all(self._keys.feed(read))

    # --- what the worker says --------------------------------------------------------------

    def _note(self, note: stage.Note) -> None:
        match note:
            case stage.Show(text):
                self._show(text)
            case stage.ClearScreen():
                self._output.clear()
                self._terminal.clear()
            case stage.Ask():
                self._dialog, self._selected = note, 0
            case stage.CloseDialog():
                self._dialog = None
            case stage.Finished(restore, turn):
                self._finished(restore, turn)
            case stage.Leave(reason):
                self._leave(reason, 0)
            case stage.Rung():
                self._go_on()
            case stage.StatusLine(text):
                self._status_line = text
            case stage.ShellsChanged():
                pass
            case stage.Broken(trace):
                self._terminal.leave()
                sys.stderr.write(trace)
                os._exit(70)

    def _finished(self, restore: str | None, turn: bool) -> None:
        self._busy = False
        if restore is not None and not self._box:
            self._box.paste(restore)
        self._go_on()
        if turn and not self._busy:
            self._idle_notice_at = time.monotonic() + self._options.idle_notice

    def _go_on(self) -> None:
        """Begin what waits, unless something runs."""
        while not self._busy and (waiting := self._stage.next_waiting()):
            self._talk.transcript.queue_operation("dequeue")
            self._begin(waiting)

    # --- keys ------------------------------------------------------------------------------

    def _press_all(self, presses: list[Press]) -> None:
        pasted = False
        for press in presses:
            # Claude Code loses an Enter that comes in the same read as the end of a paste.
            if not (pasted and press is Key.ENTER):
                self._press(press)
            pasted = isinstance(press, Paste)
            self._dirty = True

    def _press(self, press: Press) -> None:
        self._notice = ""
        if press is Key.ENTER and self._enters_to_swallow > 0:
            self._enters_to_swallow -= 1
        elif self._dialog is not None:
            self._press_in_dialog(press, self._dialog)
        elif isinstance(press, Text):
            self._box.type(press.text)
        elif isinstance(press, Paste):
            self._box.paste(press.text)
        else:
            self._press_key(press)

    def _press_in_dialog(self, press: Press, dialog: stage.Ask) -> None:
        """Text is lost here; Enter answers. This is why nothing may be typed at a dialog."""
        if press in (Key.UP, Key.DOWN):
            self._selected = 1 - self._selected
        elif press is Key.ENTER or press in (Key.ESCAPE, Key.CTRL_C):
            self._dialog = None
            dialog.answer.put(press is Key.ENTER and self._selected == 0)

    def _press_key(self, key: Key) -> None:
        match key:
            case Key.ENTER:
                self._enter()
            case Key.BACKSPACE:
                self._box.backspace()
            case Key.CTRL_U:
                self._box.clear()
            case Key.CTRL_S:
                self._swap_stash()
            case Key.ESCAPE:
                self._escape()
            case Key.CTRL_C:
                self._ctrl_c()
            case Key.CTRL_D if not self._box:
                self._leave("prompt_input_exit", 0)
            case Key.CTRL_D | Key.UP | Key.DOWN:
                pass

    def _enter(self) -> None:
        if self._box.continue_line():
            return
        text, shown = self._box.text, self._box.shown
        if not text.strip():
            return
        self._box.clear()
        submitted = _typed(text, shown)
        if self._busy:
            self._talk.transcript.queue_operation("enqueue", text)
            self._stage.queue(submitted)
        else:
            self._begin(submitted)
        if self._stash is not None:
            self._swap_stash()

    def _swap_stash(self) -> None:
        held = self._box.copy() if self._box else None
        self._box.swap(self._stash)
        self._stash = held
        self._notice = "› stashed" if held else ""

    def _escape(self) -> None:
        if self._busy:
            self._stage.interrupt.set()
        elif self._box and self._is_again(Key.ESCAPE):
            self._box.clear()
        elif self._box:
            self._notice = "Esc again to clear"

    def _ctrl_c(self) -> None:
        if self._box:
            self._box.clear()
        elif self._busy:
            self._stage.interrupt.set()
        elif self._is_again(Key.CTRL_C):
            self._leave("prompt_input_exit", 0)
        else:
            self._notice = "Press Ctrl-C again to exit"

    def _is_again(self, key: Key) -> bool:
        now = time.monotonic()
        before, self._pressed[key] = self._pressed.get(key, 0.0), now
        return now - before < AGAIN_WITHIN

    # --- jobs ------------------------------------------------------------------------------

    def _begin(self, waiting: stage.Waiting) -> None:
        """Hand what was submitted to the worker: a command, a shell line or a prompt."""
        self._show(view.announced(waiting))
        self._idle_notice_at = None
        text, told = waiting.text, waiting.told
        job = jobs.job_for(text) if waiting.by_person else jobs.Prompt(text, told)
        if job is None:
            self._show(f"Unknown command: {text.split()[0]}\n")
            return
        self._busy = True
        self._stage.interrupt.clear()
        self._worker.give(job)

    # --- drawing ---------------------------------------------------------------------------

    def _show(self, text: str) -> None:
        self._output.append(cells.plain(text))

    def _draw(self) -> None:
        waits = self._dialog is not None
        tick = int(time.monotonic() / TITLE_PERIOD)
        busy = self._busy and not waits
        title = view.title(self._options.name, busy=busy, tick=tick)
        if not self._dirty:
            self._terminal.set_title(title)
            return
        self._dirty = False
        bottom = self._bottom()
        output, self._output = "\n".join(self._output), []
        self._terminal.frame(output, bottom, title=title)
        self._tell_status(waits)

    def _bottom(self) -> view.Bottom:
        size = self._terminal.size()
        if self._dialog is not None:
            return view.with_dialog(self._dialog.command, self._selected, size=size)
        queued = [waiting.shown for waiting in self._stage.waiting() if waiting.by_person]
        return view.with_box(
            self._box,
            size=size,
            busy=self._busy,
            queued=queued,
            notice=self._notice,
            status=self._status_line,
        )

    def _tell_status(self, waits: bool) -> None:
        if waits:
            self._status.tell(self._talk.session_id, "waiting", "permission prompt")
        else:
            idle = "shell" if self._talk.background else "idle"
            self._status.tell(self._talk.session_id, "busy" if self._busy else idle)

    def _tell_footer(self, text: str) -> None:
        self._stage.post(stage.StatusLine(text))

    # --- the end ---------------------------------------------------------------------------

    def _leave(self, reason: str, code: int) -> NoReturn:
        self._talk.fire("SessionEnd", reason=reason)
        self._talk.transcript.flush()
        self._status.remove()
        # The terminal may have gone first.
        with contextlib.suppress(OSError, termios.error):
            self._terminal.leave()
        # Not sys.exit: a turn may still be running in the worker's thread.
        os._exit(code)


def _typed(text: str, shown: str) -> stage.Waiting:
    return stage.Waiting(text, shown, at=now())
