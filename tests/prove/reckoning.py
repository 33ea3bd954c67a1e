"""What became of sessions under faults: their steps, their messages, and everybody else."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.prove.faults import Havoc
from tests.prove.ledger import Verdict
from tests.prove.unattended import Deed, Worker

GONE = 1
"""In whose name a tool speaks whose agent died before it could look."""


@dataclass(slots=True)
class Outcome:
    steps: Verdict = field(default_factory=Verdict)
    messages: Verdict = field(default_factory=Verdict)
    forgotten: int = 0
    """Steps done once more that a full disk kept from being recorded."""
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


@dataclass(slots=True)
class Excuses:
    """Why a step may have been done twice."""

    blind: list[tuple[float, float]]
    """Times in which no agent could write down what it did; after a crash it is forgotten."""
    forgotten: int = 0
    """Steps done again for that."""
    cut: set[int] = field(default_factory=set)
    """Agents whose last step, the one in flight, was done again."""
    missing: list[tuple[Deed, Deed]] = field(default_factory=list)
    """Done first and again, for no reason we know."""

    def excuse(self, first: Deed, again: Deed) -> bool:
        is_by_another = first.agent != again.agent
        if is_by_another and any(begin < first.at < end for begin, end in self.blind):
            self.forgotten += 1
            return True
        is_excused = is_by_another and first.agent not in self.cut
        if is_excused and first.agent != GONE:
            self.cut.add(first.agent)
        return is_excused


def judge_steps(done: list[Deed], steps: int, excuses: Excuses) -> Verdict:
    """Each in its turn; again only with an excuse."""
    verdict = Verdict(sent=steps)
    begun: dict[int, Deed] = {}
    for deed in done:
        first = begun.get(deed.number)
        if first is None:
            verdict.disordered += deed.number != len(begun) + 1
        elif not excuses.excuse(first, deed):
            verdict.doubled += 1
            excuses.missing.append((first, deed))
        begun[deed.number] = deed
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


def fault_table(havoc: Havoc, outcome: Outcome) -> str:
    counts = Counter(what for _, what, _ in havoc.made)
    rows = [f"| {what} | {count} |" for what, count in counts.most_common()]
    total = f"| all | {sum(counts.values())} |"
    return "\n".join(["| fault | times |", "|---|---|", *rows, total, *outcome.notes])
