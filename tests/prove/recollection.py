"""What a recovered agent is told where sources are missing, spoilt or huge: words and seconds."""

import asyncio
import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sm.adapters.agents import Dialects
from sm.adapters.archive.render import tail
from sm.adapters.handoffs.folders import HandoffFolders
from sm.adapters.system import SystemClock
from sm.core.crash import Cause, Crash
from sm.core.ids import HandoffId, SessionId
from sm.core.recollection import tokens
from sm.core.state import Session
from sm.engine.drafts import Drafts
from sm.engine.recollection import Recollected, Recollection
from sm.redaction.redactor import Redactor
from tests.core.samples import IDLE
from tests.kit.planted import TORN, plant
from tests.kit.sm import Sm
from tests.prove.ledger import Verdict

GIGABYTE, HUNDRED = 1_000_000_000, 100_000_000
REAL = 64_000_000
"""Bytes at the end of the log that are not a hole."""
OF_LOG, OF_TRANSCRIPT, OF_NOTHING = 2.0, 1.5, 1.0
"""Seconds. Of a transcript half a second is for its end, and for taking secrets out of that: a
longer one costs no more of it."""
TIMES = 3
HANDOFF = HandoffId("a" * 12)
WISH = "Port the reader to the new store"
TURN = f"❯ {WISH}\r\n\r\n● Bash(make all)\r\n  ⎿  ok\r\n\r\n● Done so far.\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    make: Callable[[Path], None]
    """Puts t.jsonl and raw.log into the folder, or leaves them out."""
    within: float
    says: tuple[str, ...]
    """Some words that stand in the prompt, the sources or what was skipped."""
    whole: bool = False


def cases() -> Iterator[Case]:
    gone = "terminal log: there is none"
    yield Case(
        name="no scrollback", make=_short, within=OF_NOTHING, whole=True,
        says=("transcript: ", "## Your Previous Conversation"),
    )  # fmt: skip
    yield Case(
        name="no transcript", make=_log_only, within=OF_NOTHING,
        says=("transcript: there is none", "1 request, 1 reply", WISH, "make all → ok"),
    )  # fmt: skip
    yield Case(
        name="neither, but a handoff", make=lambda _: None, within=OF_NOTHING,
        says=("transcript: there is none", gone, f"last handoff {HANDOFF}", "half is done"),
    )  # fmt: skip
    yield Case(
        name="binary garbage", make=_garbage, within=OF_NOTHING,
        says=("transcript: there is no record of a conversation in it",
              "terminal log: binary garbage, not used"),
    )  # fmt: skip
    yield Case(
        name="1 GB log", make=_huge_log, within=OF_LOG,
        says=("terminal log: 10000 lines", WISH, "build step 1999 of the whole"),
    )  # fmt: skip
    yield Case(
        name="1 GB of garbage",
        make=_huge_garbage,
        within=OF_LOG,
        says=("terminal log: binary garbage, not used",),
    )
    yield Case(
        name="100 MB transcript", make=_huge_transcript, within=OF_TRANSCRIPT, whole=True,
        says=("transcript: ", "torn lines were skipped", "## Your Handoff State"),
    )  # fmt: skip
    yield Case(
        name="100 MB transcript, torn", make=_torn_transcript, within=OF_TRANSCRIPT,
        says=("its last record is torn", "## Your Handoff State"),
    )  # fmt: skip


def every_case(sm: Sm) -> tuple[Verdict, str]:
    verdict, worst = Verdict(), 0.0
    for case in cases():
        folder = sm.folder / case.name.replace(" ", "-")
        folder.mkdir()
        case.make(folder)
        told, seconds, grown = _measured(folder)
        missing = [words for words in case.says if words not in _all(told)]
        holds = not missing and told.whole is case.whole and seconds <= case.within
        verdict += Verdict(sent=1, once=int(holds), lost=int(not holds))
        worst = max(worst, seconds)
        _print(case, told, seconds, grown, missing)
        for file in folder.iterdir():
            if file.is_file():
                file.unlink()
    return verdict, f"slowest {worst:.2f} s"


def _measured(folder: Path) -> tuple[Recollected, float, int]:
    """What is told, in how many seconds at best, and by how many megabytes the process grew.

    Of the processor: other work on the machine does not count.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = []
    for _ in range(TIMES):
        began = time.process_time()
        told = recollect(folder)
        taken.append(time.process_time() - began)
    seconds = min(taken)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return told, seconds, grown // 1000


def recollect(folder: Path) -> Recollected:
    handoffs = HandoffFolders(lambda session: folder / session)
    handoffs.keep_text(IDLE.id, HANDOFF, "# Port\n\nThe half is done.\n", 10_000)

    def log(_session: SessionId, lines: int) -> list[str]:
        return tail(folder / "raw.log", folder / "sizes.jsonl", lines)

    drafts = Drafts(
        dialects=Dialects(),
        handoffs=handoffs,
        clock=SystemClock(),
        redact=lambda text: Redactor().redact(text),
    )
    crash = Crash(
        at=time.time() - 300, cause=Cause.SIGNAL, words="the agent was ended by signal 9", busy=True
    )
    recollection = Recollection(drafts=drafts, log=log)
    return asyncio.run(recollection.of(_session(folder), crash, window=200_000))


def _session(folder: Path) -> Session:
    context = replace(IDLE.context, transcript=str(folder / "t.jsonl"))
    return replace(IDLE, context=context, cwd=str(folder), last_handoff=HANDOFF)


def _all(told: Recollected) -> str:
    return "\n".join([told.prompt, told.flaw, *told.sources, *told.skipped])


def _print(case: Case, told: Recollected, seconds: float, grown: int, missing: list[str]) -> None:
    much = f"{tokens(told.prompt)} tokens, {told.lines} lines"
    print(f"  {case.name}: {seconds:.2f} s, +{grown} MB, {much}")
    for words in (*told.sources, *(f"({skipped})" for skipped in told.skipped)):
        print(f"    {words}")
    print(f"    whole: {told.flaw or 'yes'}; last: {told.last_activity[:80] or '-'}", flush=True)
    if missing:
        print(f"    MISSING {missing}", flush=True)


# --- what is left of a session


def _short(folder: Path) -> None:
    _mended(folder, 200_000)


def _log_only(folder: Path) -> None:
    (folder / "raw.log").write_text(TURN)


def _garbage(folder: Path) -> None:
    for name in ("t.jsonl", "raw.log"):
        (folder / name).write_bytes(os.urandom(5_000_000))


def _huge_log(folder: Path) -> None:
    """A gigabyte, most of it a hole; its last part is what a terminal got."""
    filler = "".join(f"\x1b[3{n % 8}mbuild step {n} of the whole\x1b[0m\r\n" for n in range(2000))
    with (folder / "raw.log").open("wb") as file:
        file.seek(GIGABYTE - REAL)
        while file.tell() < GIGABYTE - len(TURN.encode()):
            file.write(filler.encode())
        file.write(TURN.encode())


def _huge_garbage(folder: Path) -> None:
    with (folder / "raw.log").open("wb") as file:
        file.seek(GIGABYTE - REAL)
        for _ in range(REAL // 1_000_000):
            file.write(os.urandom(1_000_000))


def _huge_transcript(folder: Path) -> None:
    _mended(folder, HUNDRED)


def _mended(folder: Path, size: int) -> None:
    path = folder / "t.jsonl"
    plant(path, size)
    content = path.read_bytes()
    path.write_bytes(content[: content.rfind(b"\n", 0, -1) + 1])


def _torn_transcript(folder: Path) -> None:
    plant(folder / "t.jsonl", HUNDRED)
    with (folder / "t.jsonl").open("ab") as file:
        file.write(TORN)
