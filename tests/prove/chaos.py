"""Faults at random moments while messages flow: none lost, none doubled, order kept."""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from sm.api.starting import answers
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ledger import Ledger, Verdict

SESSIONS = ("ann", "ben", "cem")
MODES = ("sequential", "sequential", "important")
AHEAD = 6
"""Messages kept waiting while faults are made: there is always something to lose."""


def under_faults(sm: Sm, fault: Callable[[Sm], None], *, times: int, pause: float) -> Verdict:
    """Make a fault again and again, at random moments, while three sessions are sent messages."""
    for name in SESSIONS:
        sm.new_demo(name)
    ledger = Ledger(sm)
    over = threading.Event()
    sender = threading.Thread(target=_keep_sending, args=(ledger, over))
    sender.start()
    chance = random.Random(times)
    try:
        for _ in range(times):
            # Half of them hit a daemon at work, half one that may still be starting.
            if chance.random() < 0.5:
                wait_until(lambda: answers(sm.home), 60)
            time.sleep(chance.uniform(0.02, pause))
            fault(sm)
    finally:
        over.set()
        sender.join(60)
    wait_until(lambda: answers(sm.home), 30)
    wait_until(ledger.all_done, 120, seen=lambda: sm.run("messages", "--state", "queued"))
    return ledger.judge()


def _keep_sending(ledger: Ledger, over: threading.Event) -> None:
    chance = random.Random(7)
    number = 0
    while not over.is_set():
        number += 1
        name = chance.choice(SESSIONS)
        tool = "\n%tool true" if number % 5 == 0 else ""
        ledger.send(name, f"number {number}{tool}", mode=chance.choice(MODES))
        while len(ledger.sent) - _arrived(ledger.sm) > AHEAD and not over.is_set():
            time.sleep(0.02)


def _arrived(sm: Sm) -> int:
    return sum(len(sm.received(name)) for name in SESSIONS)


def kill_worker(sm: Sm) -> None:
    """kill -9, whatever the daemon is doing; also while it starts."""
    wait_until(lambda: _workers(sm), 10)
    for worker in _workers(sm):
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


def _workers(sm: Sm) -> list[int]:
    parent = int(sm.home.pid.read_text().split()[0])
    return [int(c) for c in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def stop_worker(sm: Sm, *, seconds: float = 5.0) -> None:
    """SIGSTOP for a while: nothing is answered, nothing is dead."""
    worker = int(sm.health()["worker"])
    os.kill(worker, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(worker, signal.SIGCONT)


def cut_control(sm: Sm) -> None:
    """End the daemon's control connection to tmux with -9."""
    name = sm.home.tmux_socket("sm")
    listed = subprocess.run(
        ["tmux", "-L", name, "list-clients", "-F", "#{client_pid} #{client_control_mode}"],
        capture_output=True,
        text=True,
        check=False,
    )
    for line in listed.stdout.splitlines():
        pid, control = line.split()
        if control == "1":
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
