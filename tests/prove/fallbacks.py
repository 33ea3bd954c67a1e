"""Sessions whose remains are missing or ruined: `sm recover` works all the same, and says so.

Each has done some of a task when its agent is killed. What then is taken away or spoilt is what the
agent that comes next would be told from.
"""

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ledger import Verdict
from tests.prove.unattended import Worker

GIGABYTE = 1_000_000_000
_GARBAGE = bytes((*range(1, 9), *range(128, 256))) + b"\n"
_LINE = b"line after line of something that was printed once\r\n"


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a session."""

    transcript: Path
    log: Path
    snapshots: Path

    def no_snapshots(self) -> None:
        for file in self.snapshots.glob("*"):
            file.unlink()


@dataclass(frozen=True, slots=True)
class Case:
    ruin: Callable[[Remains], None]
    way: str
    says: tuple[str, ...]
    """What `sm recover` says of the sources."""
    knows: bool = True
    """Whether what is left tells what the task was, and how far it came."""


def _nothing(_: Remains) -> None:
    pass


def _no_transcript(left: Remains) -> None:
    left.transcript.unlink()


def _no_log(left: Remains) -> None:
    left.log.unlink()
    left.no_snapshots()


def _neither(left: Remains) -> None:
    _no_transcript(left)
    _no_log(left)


def _garbage(left: Remains) -> None:
    left.no_snapshots()
    for path in (left.transcript, left.log):
        path.write_bytes(_GARBAGE * 4_000)


def _long_log(size: int) -> Callable[[Remains], None]:
    def ruin(left: Remains) -> None:
        _no_transcript(left)
        end = left.log.read_bytes()
        with left.log.open("wb") as file:
            for _ in range(size // (len(_LINE) * 10_000) + 1):
                file.write(_LINE * 10_000)
            file.write(end)

    return ruin


def cases(size: int) -> dict[str, Case]:
    return {
        "all there": Case(_nothing, "resume", ("from transcript: ",)),
        "no transcript": Case(_no_transcript, "fresh", ("not used: transcript: there is none",)),
        "no scrollback": Case(_no_log, "resume", ("from transcript: ",)),
        "neither": Case(
            _neither,
            "fresh",
            ("not used: transcript: there is none", "not used: terminal log: there is none"),
            knows=False,
        ),
        "binary garbage": Case(
            _garbage,
            "fresh",
            (
                "not used: transcript: there is no record of a conversation in it",
                "not used: terminal log: binary garbage, not used",
            ),
            knows=False,
        ),
        f"a log of {size:,} bytes": Case(
            _long_log(size), "fresh", ("not used: transcript: there is none", "from terminal log: ")
        ),
    }


def fall_back(sm: Sm, name: str, case: Case) -> list[str]:
    """What is wrong with how this session came back."""
    worker = Worker(sm, name, steps=6, takes=0.1)
    worker.start(delay=0.3)
    wait_until(lambda: len(worker.done) >= 3, 30, seen=lambda: sm.run("explain", name))
    shown = sm.json("show", name)
    os.kill(shown["pid"], signal.SIGKILL)
    sm.wait_state(name, "crashed")
    folder = sm.home.sessions / worker.id
    log, transcript = Path(shown["raw_log"]), Path(shown["context"]["transcript"])
    case.ruin(Remains(transcript=transcript, log=log, snapshots=folder / "snapshots"))
    done = sm.start("recover", name, timeout=120)
    told = done.stdout + done.stderr
    wrong = [] if done.returncode == 0 else [f"exit {done.returncode}: {told}"]
    wrong += [f"it does not say {words!r}:\n{told}" for words in case.says if words not in told]
    wrong += ["a traceback"] if "Traceback" in told else []
    way = sm.json("show", name)["recoveries"][-1]["way"]
    wrong += [f"{way}, not {case.way}"] if way != case.way else []
    return wrong + (_not_gone_on(sm, worker) if case.knows else _not_told(worker))


def _not_gone_on(sm: Sm, worker: Worker) -> list[str]:
    wait_until(worker.is_through, 30, seen=lambda: sm.run("explain", worker.name))
    numbers = [deed.number for deed in worker.done]
    wanted = list(range(1, worker.steps + 1))
    return [] if list(dict.fromkeys(numbers)) == wanted else [f"done: {numbers}"]


def _not_told(worker: Worker) -> list[str]:
    """What sm itself had given it is known without any of its agent's."""
    return [] if worker.request in worker.retold() else ["it was not told its task"]


def each(sm: Sm, *, size: int = GIGABYTE) -> tuple[Verdict, str]:
    verdict, notes = Verdict(), []
    tried = cases(size)
    with ThreadPoolExecutor(max_workers=len(tried)) as pool:
        names = [f"f{number}" for number in range(1, len(tried) + 1)]
        found = list(pool.map(lambda name, case: fall_back(sm, name, case), names, tried.values()))
    for what, wrong in zip(tried, found, strict=True):
        verdict += Verdict(sent=1, once=int(not wrong), changed=len(wrong))
        notes += [f"{what}: {words}" for words in wrong]
    return verdict, "; ".join([f"{verdict.once} ways to come back", *notes])
