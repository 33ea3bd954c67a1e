"""The ledger between processes: many that want one handoff, and some that are killed."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from sm.adapters.channels.database import Database
from sm.adapters.channels.errors import LedgerError
from sm.adapters.channels.ledger import Ledger
from sm.adapters.system import ProcessTable
from sm.core.ids import HandoffId
from tests.adapters.channels.samples import HOUR, NOON, claimant, left

ROOT = Path(__file__).parents[3]
RACERS = 50
ROUNDS = 10


def _start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.adapters.channels.worker", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _say(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def _is_alive(pid: int, started: int) -> bool:
    return ProcessTable().started(pid) == started


def _never(_path: str, _handoff: HandoffId) -> bool:
    return False


def test_exactly_one_of_many_processes_is_given_a_handoff(
    ledger: Ledger, folder: Path, work: Path
) -> None:
    """Fifty that ask in the same moment, each with the file open."""
    made = ledger.create(left(work))
    racers = [_start("race", str(folder), made.id, f"{n:08x}") for n in range(RACERS)]
    try:
        assert [_line(racer) for racer in racers] == ["ready"] * RACERS
        for racer in racers:
            _say(racer)
        answers = [_line(racer) for racer in racers]
    finally:
        for racer in racers:
            _end(racer)

    given = ledger.get(made.id)
    assert given is not None
    (winner,) = (n for n, answer in enumerate(answers) if answer == "claimed")
    assert (given.claimed_by, given.claimed_pid) == (f"{winner:08x}", racers[winner].pid)
    lost = f"{made.id} is claimed by {winner:08x}: it cannot be claimed."
    assert Counter(answers) == {"claimed": 1, lost: RACERS - 1}


def test_a_claimant_killed_before_it_read_gives_its_handoff_back(
    ledger: Ledger, folder: Path, work: Path
) -> None:
    """While it lives the claim is its own; the next claimant gets what it never used."""
    made = ledger.create(left(work))
    racer = _start("race", str(folder), made.id, "00000001")
    try:
        assert _line(racer) == "ready"
        _say(racer)
        assert _line(racer) == "claimed"
        assert ledger.release_stale(_is_alive, _never, now=NOON) == []
    finally:
        _end(racer)

    assert ledger.release_stale(_is_alive, _never, now=NOON) == [made]
    assert ledger.claim(made.id, claimant(), now=NOON, expiry=HOUR) == made.given(claimant(), NOON)


def test_processes_killed_at_any_moment_leave_a_whole_ledger(folder: Path, work: Path) -> None:
    """What was told is kept, nothing is half, at most one waits in each channel, exports follow."""
    chance = random.Random(20260202)
    told: list[str] = []
    for number in range(ROUNDS):
        pair = [
            _start("loop", str(folder), str(work), f"{number * 2 + n:08x}", channel)
            for n, channel in enumerate(chance.choices(["api", "web"], k=2))
        ]
        told += [_line(process) for process in pair]
        for process in pair:
            time.sleep(chance.uniform(0, 0.06))  # the moment itself, not a wait for something
            os.kill(process.pid, signal.SIGKILL)
        for process in pair:
            told += process.communicate()[0].split("\n")[:-1]

    _check(folder, told)


def _check(folder: Path, told: list[str]) -> None:
    with closing(sqlite3.connect(folder / "channels.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    ledger = Ledger(folder)
    rows = {handoff.id: handoff for handoff in ledger.history(limit=-1)}
    later = {
        "created": {"active", "superseded", "claimed", "consumed"},
        "claimed": {"claimed", "consumed"},
        "consumed": {"consumed"},
    }
    for line in told:
        step, name = line.split()
        assert rows[HandoffId(name)].status.value in later[step]
    actives = Counter(h.channel for h in rows.values() if h.status == "active")
    assert all(count == 1 for count in actives.values())
    assert len(told) > ROUNDS
    ledger.release_stale(_is_alive, _never, now=time.time())
    assert {h.status.value for h in ledger.history(limit=-1)} <= {
        "active", "superseded", "consumed",
    }  # fmt: skip
    assert ledger.export() == ()
    _check_exports(ledger, folder)
    ledger.close()


def _check_exports(ledger: Ledger, folder: Path) -> None:
    for channel in ("api", "web"):
        manifest = json.loads((folder / f"{channel}.manifest.json").read_text())
        waiting = ledger.current(channel)
        shown = folder / f"{channel}-CURRENT.md"
        assert (manifest["current"]["status"] == "active") == (waiting is not None)
        if waiting is not None:
            assert manifest["current"]["id"] == waiting.id
            assert shown.read_text().startswith(f"<!-- HANDOFF-ID: {waiting.id} -->\n")
        else:
            assert not shown.exists()


@pytest.mark.parametrize("moment", ["open", "write"])
def test_a_process_that_is_stopped_does_not_stop_the_others(
    folder: Path, work: Path, moment: str
) -> None:
    """They are told that the ledger is held, in time; not for ever silent."""
    holder = Database(folder)
    if moment == "open":
        with (
            holder.alone(),
            pytest.raises(LedgerError, match=r"is held by another program\."),
        ):
            Ledger(folder, busy_seconds=0.2)
        return
    ledger = Ledger(folder, busy_seconds=0.2)
    with (
        holder.writing(),
        pytest.raises(LedgerError, match=r"is held by another program\."),
    ):
        ledger.create(left(work))
    assert ledger.create(left(work)).status == "active"
