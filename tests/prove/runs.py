"""`sm run` over many contexts, beside others of its kind, and killed at random moments.

Each model has steps and a secret word of its own. It goes on with what the context before left
for it, and everything it was given is held against what it should have been given.
"""

import contextlib
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.kit.anthropic_api import AnthropicApi, anthropic_api
from tests.kit.claude import claude_home, require_claude
from tests.kit.runs import Desk, Run, Shell, Task, alive, line, run_desk, told
from tests.kit.sm import SM
from tests.kit.tmux import wait_until
from tests.prove import walkaway
from tests.prove.ledger import Verdict
from tests.prove.walkaway import judged

_STEP = re.compile(r"/step (\d+) ")
_HANDOFF = re.compile(r"HO-\d{8}-\d{6}-[0-9a-f]{8}")
GONE_WITHIN = 3.0


def contexts_wanted(task: Task) -> list[int]:
    """With which step each context begins, if it is left for nothing but its own fill."""
    begun, first = [], 1
    while first <= task.steps:
        begun.append(first)
        first += task.fills[first % len(task.fills)]
    return begun


def mixed_up(task: Task, others: set[str]) -> list[str]:
    """What is wrong with what a task's model was given, context by context."""
    wrong = []
    given = [told(context) for context in task.contexts()]
    wanted = contexts_wanted(task)
    if len(given) != len(wanted):
        wrong.append(f"{len(given)} contexts in place of {len(wanted)}")
    for number, (text, first) in enumerate(zip(given, wanted, strict=False), 1):
        if task.request not in text:
            wrong.append(f"context {number} lacks the request")
        if any(word in text for word in others):
            wrong.append(f"context {number} was told of another's work")
        known = max(map(int, _STEP.findall(text)), default=0)
        if known != first - 1:
            wrong.append(f"context {number} knows of step {known}, not of {first - 1}")
        if number > 1 and len(set(_HANDOFF.findall(text.rpartition("=== END HANDOFF")[2]))) != 1:
            wrong.append(f"context {number} was prompted for another handoff")
    return wrong


def verdict_of(tasks: list[Task]) -> tuple[Verdict, list[str]]:
    total, wrong = Verdict(), []
    words = {task.secret for task in tasks}
    for task in tasks:
        verdict = judged(task.done, task.wanted)
        found = mixed_up(task, words - {task.secret})
        verdict.changed += len(found)
        wrong += [f"{task.secret}: {words}" for words in found]
        total += verdict
    return total, wrong


# --- one after the other ------------------------------------------------------------------------


def alone(steps: int, fill: int) -> tuple[Verdict, str]:
    """The demo agent, many contexts long."""
    with run_desk() as desk:
        task = Task(folder=desk.folder / "task", steps=steps, fills=(fill,))
        run = desk.run("--", "demo", *task.arguments)
        code = run.ended(20 + 4 * steps)
        desk.expect_nothing_left()
        verdict, wrong = verdict_of([task])
        verdict.unreceipted += code != 0
        return verdict, f"{len(task.contexts())} contexts{''.join(f'; {w}' for w in wrong)}"


@contextmanager
def claude_desk(task: walkaway.Task) -> Iterator[tuple[Desk, AnthropicApi]]:
    """A desk at which the real client works on a task."""
    client = require_claude()
    with run_desk() as desk, anthropic_api(task.reply) as api:
        home = claude_home(desk.folder / "claude", api.url, cwd=desk.cwd)
        (home.config / "settings.json").write_text('{"permissions":{"allow":["Bash"]}}')
        path = f"{client.parent}:{desk.environment['PATH']}"
        desk.environment = {**desk.environment, **home.environment, "PATH": path}
        task.file = desk.folder / "steps"
        yield desk, api


def real_client(steps: int) -> tuple[Verdict, str]:
    """The real Claude Code with a model that knows what it is given and nothing else."""
    task = walkaway.Task(steps=steps, file=Path())
    with claude_desk(task) as (desk, api):
        run = desk.run("--", "claude", walkaway.TASK)
        wait_until(lambda: len(task.lines) >= steps, 30 + 6 * steps, seen=run.report)
        run.wait_idle()
        handoffs = run.handoffs()
        run.shell.submit("/exit")
        code = run.ended(20)
        desk.expect_nothing_left()
        verdict = judged(task.lines, task.wanted)
        verdict.changed += requests_missing(api)
        verdict.unreceipted += (code != 0) + (len(handoffs) + 1 != len(task.begun))
        return verdict, f"{len(task.begun)} contexts"


def requests_missing(api: AnthropicApi) -> int:
    """In how many contexts the model never had the person's request word for word."""
    asked: dict[str, bool] = {}
    for request in api.main_requests():
        has_it = walkaway.TASK in str(request.body["messages"]).replace("\\'", "'")
        asked[request.session] = asked.get(request.session, False) or has_it
    return sum(not has_it for has_it in asked.values())


# --- side by side -------------------------------------------------------------------------------


def side_by_side(sessions: int, rotations: int, seed: int = 1) -> tuple[Verdict, str]:
    """Wrapped agents in one project, each filling in its own time: none takes another's place."""
    chance = random.Random(seed)
    with run_desk() as desk:
        tasks, runs = [], []
        for number in range(sessions):
            fills = tuple(chance.randint(1, 4) for _ in range(60))
            secret = f"heron{number}{secrets.token_hex(3)}"
            # As many steps as fill the contexts that are asked for.
            task = Task(folder=desk.folder / secret, steps=1000, fills=fills, secret=secret)
            steps = contexts_wanted(task)[rotations // sessions + 1] - 1
            task = Task(
                folder=desk.folder / f"{secret}.",
                steps=steps,
                fills=fills,
                secret=secret,
                pause=chance.choice((0.0, 0.05, 0.2)),
            )
            tasks.append(task)
            runs.append(desk.run("--", "demo", *task.arguments))
        codes = [run.ended(60 + 6 * rotations) for run in runs]
        desk.expect_nothing_left()
        verdict, wrong = verdict_of(tasks)
        verdict.unreceipted += sum(code != 0 for code in codes)
        done = sum(len(task.contexts()) - 1 for task in tasks)
        return verdict, f"{sessions} runs, {done} rotations, {len(wrong)} mix-ups{_some(wrong)}"


def _some(wrong: list[str]) -> str:
    return "".join(f"; {words}" for words in wrong[:5])


# --- kill -9 ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Toll:
    """What was found after the kills of one kind."""

    kills: int = 0
    rotated: int = 0
    """Kills after at least one rotation."""
    orphans: int = 0
    bystanders: int = 0
    lost: int = 0
    doubled: int = 0
    codes: int = 0
    """Exit codes that were not the agent's."""
    notes: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        return self.orphans + self.bystanders + self.lost + self.doubled + self.codes


@dataclass(slots=True)
class Bystanders:
    """Others in the same project: a plain agent that knows nothing of sm, and a run at rest."""

    plain: int
    run: Run
    agent: int

    @property
    def alive(self) -> bool:
        return alive(self.plain) and alive(self.run.pid) and alive(self.agent)


def bystanders(desk: Desk) -> Bystanders:
    shell = desk.shell()
    pid = desk.folder / "plain.pid"
    python = line(sys.executable, "-I", "-m", "sm.adapters.agents.demo")
    shell.type(f"sh -c 'echo $$ >{pid}; exec {python}'")
    run = desk.run("--", "demo", "--delay", "0")
    run.wait_idle()
    wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"), seen=shell.screen)
    agent = run.agent
    assert agent is not None
    return Bystanders(plain=int(pid.read_text()), run=run, agent=agent)


VICTIMS = ("wrapper", "agent", "daemon")


def killed(times: int, seed: int = 3) -> tuple[dict[str, Toll], Verdict, str]:
    """Runs of which one part is killed with -9 at a random moment, one after the other."""
    chance = random.Random(seed)
    tolls = {victim: Toll() for victim in VICTIMS}
    with run_desk() as desk:
        others = bystanders(desk)
        for number in range(times):
            victim = VICTIMS[number % len(VICTIMS)]
            _kill_once(desk, victim, number, tolls[victim], chance)
            if not others.alive:
                tolls[victim].bystanders += 1
                others = bystanders(desk)
        others.run.shell.type("/exit")
        others.run.ended()
    verdict = Verdict(sent=times)
    for toll in tolls.values():
        verdict.lost += toll.lost
        verdict.doubled += toll.doubled
        verdict.unreceipted += toll.orphans + toll.bystanders
        verdict.changed += toll.codes
    verdict.once = times - min(times, sum(toll.wrong for toll in tolls.values()))
    return tolls, verdict, _some([note for toll in tolls.values() for note in toll.notes])


def _kill_once(desk: Desk, victim: str, number: int, toll: Toll, chance: random.Random) -> None:
    code = chance.randint(0, 100)
    task = Task(
        folder=desk.folder / f"task{number}",
        steps=10,
        fills=tuple(chance.randint(1, 3) for _ in range(7)),
        secret=f"heron{number}.",
        pause=0.05,
        last=f"%crash exit {code}",
    )
    if victim == "daemon":
        subprocess.run(
            [str(SM), "daemon", "start"], env=desk.environment, check=True, capture_output=True
        )
    run = desk.run("--", "demo", *task.arguments)
    session = str(run.file["id"])
    time.sleep(chance.uniform(0.0, 3.0))
    toll.kills += 1
    toll.rotated += len(task.contexts()) > 1
    hit = _kill(run, victim)
    ended = _end(run)
    _look(run.shell, task, toll, (victim, number, hit, ended, code))
    if _left(session):
        toll.orphans += 1
        toll.notes.append(f"{victim} {number}: {_left(session)}")
    desk.tmux.run("kill-pane", "-t", run.shell.pane)


def _kill(run: Run, victim: str) -> bool:
    """Whether there was somebody to be killed."""
    if victim == "daemon":
        pid: int | None = int(run.desk.home.pid.read_text().split()[0])
    else:
        pid = run.pid if victim == "wrapper" else run.agent
    if pid is None or run.shell.has_ended():
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return True


def _end(run: Run) -> int | None:
    try:
        return run.ended(40)
    except AssertionError:
        return None


def _look(
    shell: Shell, task: Task, toll: Toll, about: tuple[str, int, bool, int | None, int]
) -> None:
    """No step lost or doubled; the exit code is the agent's, or tells of the kill."""
    victim, number, hit, ended, code = about
    counted = Counter(task.done)
    if any(count > 1 for count in counted.values()):
        toll.doubled += 1
        toll.notes.append(f"{victim} {number}: doubled {task.done}")
    is_whole = victim == "daemon" or ended == code
    if task.done != task.wanted[: len(task.done)] or (is_whole and task.done != task.wanted):
        toll.lost += 1
        toll.notes.append(f"{victim} {number}: lost {task.done}, code {ended}")
    # One that was killed while sm ended it anyway was started again, and came to its own end.
    allowed = {code} if victim == "daemon" or not hit else {137, code}
    if ended not in allowed:
        toll.codes += 1
        toll.notes.append(f"{victim} {number}: exit {ended}, not {allowed}:\n{shell.screen()}")


def _left(session: str) -> list[str]:
    """Processes of a run that are still there after a while."""
    deadline = time.monotonic() + GONE_WITHIN
    while (found := _of_run(session)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _of_run(session: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                words = (
                    (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf8", "replace")
                )
                if session in words and alive(int(folder.name)):
                    found.append(words)
    return found


def toll_table(tolls: dict[str, Toll]) -> str:
    heads = (
        "| killed | times | after a rotation | orphans | bystanders hurt | lost | doubled"
        " | wrong code |"
    )
    rows = [
        f"| {victim} | {t.kills} | {t.rotated} | {t.orphans} | {t.bystanders} | {t.lost}"
        f" | {t.doubled} | {t.codes} |"
        for victim, t in tolls.items()
    ]
    return "\n".join([heads, "|---|---|---|---|---|---|---|---|", *rows])


def killed_at_random(times: int) -> tuple[Verdict, str]:
    tolls, verdict, notes = killed(times)
    print(toll_table(tolls))
    return verdict, f"{times} kills{notes}"


# --- told to end --------------------------------------------------------------------------------

ENDINGS = {signal.SIGTERM: 143, signal.SIGHUP: 129}


def told_to_end(times: int, seed: int = 5) -> tuple[Verdict, str]:
    """Runs that rotate as fast as they can, asked to end at a random moment: they do, for good."""
    chance = random.Random(seed)
    verdict, wrong = Verdict(sent=times), []
    with run_desk() as desk:
        for number in range(times):
            task = Task(folder=desk.folder / f"task{number}", steps=200, fills=(1,))
            run = desk.run("--", "demo", *task.arguments)
            session, wrapper = str(run.file["id"]), run.pid
            ending = chance.choice(list(ENDINGS))
            time.sleep(chance.uniform(0.0, 2.0))
            os.kill(wrapper, ending)
            ended, left = _end(run), _left(session)
            if ended != ENDINGS[ending] or left:
                wrong.append(f"{number}: {ending.name}, exit {ended}, left {left}")
            desk.tmux.run("kill-pane", "-t", run.shell.pane)
    verdict.changed = len(wrong)
    verdict.once = times - len(wrong)
    return verdict, f"{times} signals{_some(wrong)}"
