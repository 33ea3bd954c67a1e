"""Sessions at numbered tasks, nobody there, and one fault after the other: the work gets done.

Each step leaves a line with the time it was begun. So a step that is lost, done out of order or
done again without a crash in between is seen in what was done, not in what anybody says.
"""

import contextlib
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sm.api.errors import RefusedError, UnansweredError
from sm.core.envelope import quoted_in
from tests.kit.runs import alive
from tests.kit.sm import Sm, sm_home
from tests.kit.tmux import wait_until
from tests.prove.faults import Havoc, plan, small_disk
from tests.prove.ledger import CLOSED, Verdict
from tests.prove.walkaway import configure

CONFIG = """
[recovery]
auto_recover = true
crash_budget = "1000 in 2s"
at_once = {at_once}
[context_monitor]
fallback_tool_count = 1_000_000
[handoff]
deadline = "1h"
"""
STEP = "t=$(date +%s.%N); sleep {takes}; echo $t {{}} >> {file}"
"""Long enough for the call to be on record before it has an effect."""
DISK = "400m"
_STARTS = ("AgentStarted", "AgentRecovered")
OPENINGS = ("You were working on a task when your session crashed", "Your session crashed")


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

    def start(self, delay: float) -> None:
        received = str(self.sm.received_file(self.name))
        told = self.sm.run(
            "new", self.name, "--agent", "demo", "--prompt", self.request, "--",
            # What a crash tears is then the last thing that happened.
            "--received", received, "--delay", str(delay), "--record-delay", "0",
        )  # fmt: skip
        self.id = told.strip()

    @property
    def done(self) -> list[tuple[float, int]]:
        """When each step was begun, and which."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return [(float(at), int(number)) for at, number in map(str.split, lines)]

    def is_through(self) -> bool:
        return any(number == self.steps for _, number in self.done)

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


def asked(sm: Sm, method: str, path: str, body: object = None, **query: object) -> Any:
    """The daemon's answer, from as many daemons as it takes."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return sm.client().call(method, path, body, query=query)
        except (UnansweredError, OSError) as error:
            if time.monotonic() > deadline:
                raise AssertionError(f"no daemon answers: {error}") from None
            # As any command would.
            sm.start("daemon", "start")


def crashes_of(sm: Sm, session: str) -> list[float]:
    """When each of its agents was found dead."""
    found: list[float] = []
    after, lives = 0, True
    while events := asked(sm, "GET", f"/sessions/{session}/timeline", after=after, limit=1000):
        for event in events:
            if event["kind"] == "AgentExited" and lives:
                found.append(event["at"])
            # An end may be reported by more than one who saw it.
            lives = event["kind"] in _STARTS or (lives and event["kind"] != "AgentExited")
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
            name = chance.choice(self.workers).name
            text = f"word {number} for {name}: {chance.randbytes(6).hex()}"
            message = chance.randbytes(6).hex()
            mode = chance.choice(("sequential", "sequential", "important"))
            body = {"id": message, "text": text, "mode": mode, "notify": True}
            try:
                asked(self.sm, "POST", f"/sessions/{name}/messages", body)
            except RefusedError as error:
                # Told so: nothing was promised. A full disk says so.
                self.failed.append(str(error))
            else:
                self.sent.append((name, message, text))


# --- what became of it --------------------------------------------------------------------------


@dataclass(slots=True)
class Outcome:
    steps: Verdict = field(default_factory=Verdict)
    messages: Verdict = field(default_factory=Verdict)
    again: int = 0
    """Steps in flight at a crash that were done once more."""
    orphans: list[str] = field(default_factory=list)
    hurt: list[str] = field(default_factory=list)
    recoveries: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        total = self.steps + self.messages
        total.changed += len(self.orphans) + len(self.hurt)
        return total


def judge_steps(
    done: list[tuple[float, int]], steps: int, crashes: list[float], notes: list[str]
) -> Verdict:
    """A step may be done again if a crash came between its beginnings; each crash excuses one."""
    verdict = Verdict(sent=steps)
    begun: dict[int, float] = {}
    excuses = sorted(crashes)
    highest = 0
    for at, number in done:
        if number in begun:
            excuse = next((c for c in excuses if begun[number] < c < at), None)
            if excuse is None:
                verdict.doubled += 1
                notes.append(f"{at:.2f}: step {number} again, without a crash")
            else:
                excuses.remove(excuse)
        if number not in (highest, highest + 1):
            verdict.disordered += 1
            notes.append(f"{at:.2f}: step {number} behind {highest}")
        highest = max(highest, number)
        begun[number] = at
    verdict.lost = sum(number not in begun for number in range(1, steps + 1))
    verdict.once = steps - verdict.lost
    return verdict


def judge_messages(worker: Worker, sent: list[tuple[str, str, str]], outcome: Outcome) -> None:
    """Each stands once in the agent's record, or was told again because the record lost it."""
    verdict = outcome.messages
    recorded, retold = worker.recorded(), worker.retold()
    for name, message, text in sent:
        if name != worker.name:
            continue
        count = recorded[message]
        verdict.sent += 1
        verdict.doubled += count > 1
        is_lost = count == 0 and text not in retold
        verdict.lost += is_lost
        verdict.once += count == 1 or (count == 0 and not is_lost)
        if count != 1 and not (count == 0 and text in retold):
            outcome.notes.append(f"message {message} to {name}: {count} times on record")


def orphans(havoc: Havoc, sessions: set[str]) -> list[str]:
    """Processes in these sessions' names that are not below their panes."""
    mark = b"CLAUDE_SESSION_MANAGER_ID="
    panes = {place.pid for place in havoc.places()}
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            variables = (folder / "environ").read_bytes().split(b"\0")
            whose = {v.removeprefix(mark).decode() for v in variables if v.startswith(mark)}
            if whose & sessions and not panes & set(_line_of(int(folder.name))):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found.append(f"{folder.name} of {whose}: {words}")
    return found


def _line_of(pid: int) -> Iterator[int]:
    """The process, its parent, and so on."""
    while pid > 1:
        yield pid
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return


# --- the proof ----------------------------------------------------------------------------------


@contextmanager
def bystanders(names: list[str]) -> Iterator[dict[str, int]]:
    """Others on this host: another home's session of the same name, and a plain agent of nobody."""
    with sm_home() as other:
        other.new_demo(names[0])
        pid = int(other.json("show", names[0])["pid"])
        plain = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(36000)"])
        try:
            yield {
                "another home's agent": pid,
                "its daemon": int(other.health()["worker"]),
                "a plain process": plain.pid,
            }
        finally:
            plain.kill()
            plain.wait()


def chaos(
    sm: Sm, *, sessions: int, steps: int, faults: int, pause: float, delay: float, seed: int = 1
) -> tuple[Outcome, Havoc]:
    """All at work, and faults at random moments; what is left when the work is done."""
    chance = random.Random(seed)
    workers = [Worker(sm, f"w{n}", steps) for n in range(1, sessions + 1)]
    with small_disk(sm.base, DISK) as ballast, bystanders([w.name for w in workers]) as others:
        configure(sm, CONFIG.format(at_once=4))
        havoc = Havoc(sm, chance, ballast)
        sender = Sender(sm, workers, every=pause)
        for worker in workers:
            worker.start(delay)
        try:
            with sender.sending():
                _wreak(havoc, plan(chance, faults, disk=ballast is not None), pause)
            outcome = _settled(sm, workers, sender, havoc)
            outcome.hurt = [what for what, pid in others.items() if not alive(pid)]
        finally:
            havoc.end()
            # While its files can still be reached.
            sm.close()
    return outcome, havoc


def _wreak(havoc: Havoc, planned: list[str], pause: float) -> None:
    for what in planned:
        time.sleep(havoc.chance.uniform(0.02, 2 * pause))
        _make(havoc, what)
    havoc.end()


def _make(havoc: Havoc, what: str) -> None:
    """As soon as there is somebody it can be done to."""
    wait_until(lambda: havoc.make(what), 60, seen=lambda: f"{what}?\n{report(havoc)}")


def report(havoc: Havoc) -> str:
    """What may tell why it came to a halt."""
    sm = havoc.sm
    made = "\n".join(f"{at % 10_000:.2f} {what} {whose}" for at, what, whose in havoc.made[-12:])
    log = sm.home.log.read_text()[-3000:] if sm.home.log.exists() else ""
    told = [sm.start(*words).stdout for words in (("ls",), ("explain", "w1"), ("daemon",))]
    return "\n".join([made, *told, log, havoc.tmux("list-panes", "-a")])


def _settled(sm: Sm, workers: list[Worker], sender: Sender, havoc: Havoc) -> Outcome:
    """Wait until all is done, and hold it against what was asked."""

    def unfinished() -> str:
        rows = [w.name for w in workers if not w.is_through()]
        return "\n".join(f"{name}: {sm.start('explain', name).stdout}" for name in rows[:3])

    wait_until(
        lambda: all(w.is_through() for w in workers),
        900,
        seen=lambda: f"{unfinished()}\n{report(havoc)}",
    )

    def is_quiet() -> bool:
        found = asked(sm, "GET", "/sessions", all="false")
        messages = asked(sm, "GET", "/messages", limit=10_000)
        is_idle = all(s["state"] == "idle" for s in found) and len(found) == len(workers)
        return is_idle and all(m["state"] in CLOSED for m in messages)

    wait_until(is_quiet, 120, seen=lambda: sm.run("ls") + sm.run("messages", "--state", "queued"))
    outcome = Outcome()
    for worker in workers:
        crashes = crashes_of(sm, worker.id)
        notes: list[str] = []
        verdict = judge_steps(worker.done, worker.steps, crashes, notes)
        outcome.notes += [f"{worker.name} ({worker.id}) {words}" for words in notes]
        outcome.steps += verdict
        outcome.again += len(worker.done) - worker.steps
        judge_messages(worker, sender.sent, outcome)
        outcome.recoveries["crashes"] += len(crashes)
    outcome.notes += [f"refused: {why}" for why in sender.failed[:3]]
    outcome.orphans = orphans(havoc, {w.id for w in workers})
    return outcome


def fault_table(havoc: Havoc, outcome: Outcome) -> str:
    counts = Counter(what for _, what, _ in havoc.made)
    rows = [f"| {what} | {count} |" for what, count in counts.most_common()]
    total = f"| all | {sum(counts.values())} |"
    return "\n".join(["| fault | times |", "|---|---|", *rows, total, *outcome.notes])


def thousand_faults(sm: Sm) -> tuple[Verdict, str]:
    outcome, havoc = chaos(sm, sessions=20, steps=300, faults=1000, pause=0.35, delay=0.6)
    print(fault_table(havoc, outcome))
    words = (
        f"{len(havoc.made)} faults, {outcome.recoveries['crashes']} crashes, {outcome.again} steps"
        f" in flight done again, {len(outcome.orphans)} orphans, {len(outcome.hurt)} others hurt"
    )
    return outcome.verdict, words
