"""Sessions at numbered steps while their daemon may be dead, and messages to them.

Each step leaves a line with the time it was begun and the agent that did it: what was done is seen
in what was done, not in what anybody says.
"""

import contextlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sm.api.client import Client
from sm.api.errors import RefusedError, UnansweredError
from sm.core.envelope import quoted_in
from tests.kit.sm import Sm

STEP = "t=$(date +%s.%N); sleep {takes}; echo $t $PPID {{}} >> {file}"
"""Long enough for the call to be on record before it has an effect."""
OPENINGS = ("You were working on a task when your session crashed", "Your session crashed")
_STARTS = ("AgentStarted", "AgentRecovered")


class Deed(NamedTuple):
    """A step that was done."""

    at: float
    """When it was begun."""
    agent: int
    """Whose process did it; 1 if that was gone at once."""
    number: int


@dataclass(slots=True)
class Worker:
    """A session with a task of its own."""

    sm: Sm
    name: str
    steps: int
    takes: float = 0.2
    id: str = ""

    @property
    def file(self) -> Path:
        return self.sm.folder / f"{self.name}.txt"

    @property
    def request(self) -> str:
        command = STEP.format(takes=self.takes, file=self.file)
        return f"Do all of it, {self.name}.\n%task {self.steps} {command}"

    def arguments(self, delay: float) -> list[str]:
        """For its agent."""
        own = ["--received", str(self.sm.received_file(self.name)), "--delay", str(delay)]
        # What a crash tears is then the last thing that happened.
        return [*own, "--record-delay", "0"]

    def start(self, delay: float) -> None:
        told = self.sm.run(
            "new", self.name, "--agent", "demo", "--prompt", self.request, "--",
            *self.arguments(delay),
        )  # fmt: skip
        self.id = told.strip()

    def client(self) -> Client:
        """Who takes its messages just now."""
        return self.sm.client()

    def crashes(self) -> list[float]:
        """When each of its agents was found dead."""
        return crashes_of(self.sm, self.id)

    @property
    def done(self) -> list[Deed]:
        """In the order in which they came to an end."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        words = map(str.split, lines)
        return [Deed(float(at), int(agent), int(number)) for at, agent, number in words]

    def is_through(self) -> bool:
        return any(deed.number == self.steps for deed in self.done)

    def given(self) -> list[dict[str, Any]]:
        """Everything its model got, from all the agents it had."""
        path = self.sm.received_file(self.name)
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def recorded(self) -> Counter[str]:
        """How often each message stands in its records as given to the model."""
        folder = self.sm.home.sessions / self.id / "demo" / "projects"
        return Counter(
            message for path in folder.glob("*/*.jsonl") for message in _messages_in(path)
        )

    def retold(self) -> str:
        """What its agents were told when they came back."""
        told = (note["prompt"] for note in self.given())
        return "\n".join(text for text in told if any(words in text for words in OPENINGS))


def _messages_in(path: Path) -> Iterator[str]:
    for line in path.read_bytes().splitlines():
        with contextlib.suppress(ValueError):
            record = json.loads(line)
            content = record.get("message", {}).get("content")
            attached = record.get("attachment", {})
            texts = [content] if isinstance(content, str) else []
            if attached.get("type") == "hook_additional_context":
                texts += attached["content"]
            if attached.get("type") == "queued_command":
                texts.append(attached["prompt"])
            for text in texts:
                yield from quoted_in(text)


# --- asking a daemon that may be dead -----------------------------------------------------------


def asked(
    sm: Sm,
    method: str,
    path: str,
    body: object = None,
    client: Callable[[], Client] | None = None,
    **query: object,
) -> Any:
    """The daemon's answer, from as many daemons as it takes."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return (client or sm.client)().call(method, path, body, query=query)
        except (UnansweredError, OSError) as error:
            if time.monotonic() > deadline:
                raise AssertionError(f"no daemon answers: {error}") from None
            # As any command would.
            sm.start("daemon", "start")


def crashes_of(sm: Sm, session: str) -> list[float]:
    """When each of its agents was found dead."""
    found: list[float] = []
    after, lives = 0, True
    ends = ("AgentExited", "SessionInherited")
    while events := asked(sm, "GET", f"/sessions/{session}/timeline", after=after, limit=1000):
        for event in events:
            if event["kind"] in ends and lives:
                found.append(event["at"])
            # An end may be reported by more than one who saw it.
            lives = event["kind"] in _STARTS or (lives and event["kind"] not in ends)
        after = events[-1]["seq"]
    return found


# --- messages meanwhile -------------------------------------------------------------------------


@dataclass(slots=True)
class Sender:
    """Sends messages to random sessions until it is told to stop."""

    sm: Sm
    workers: list[Worker]
    every: float
    sent: list[tuple[str, str, str]] = field(default_factory=list)
    """To whom, the id, the text."""
    failed: list[str] = field(default_factory=list)

    @contextmanager
    def sending(self) -> Iterator[None]:
        over = threading.Event()
        thread = threading.Thread(target=self._run, args=(over,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(150)

    def _run(self, over: threading.Event) -> None:
        chance = random.Random(11)
        number = 0
        while not over.wait(chance.uniform(0, 2 * self.every)):
            number += 1
            worker = chance.choice(self.workers)
            name = worker.name
            text = f"word {number} for {name}: {chance.randbytes(6).hex()}"
            message = chance.randbytes(6).hex()
            mode = chance.choice(("sequential", "sequential", "important"))
            body = {"id": message, "text": text, "mode": mode, "notify": True}
            try:
                asked(self.sm, "POST", f"/sessions/{name}/messages", body, worker.client)
            except RefusedError as error:
                # Told so: nothing was promised. A full disk says so.
                self.failed.append(str(error))
            else:
                self.sent.append((name, message, text))
