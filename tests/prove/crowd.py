"""Many sessions, many senders at once."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.ledger import Ledger, Verdict


def crowd(sm: Sm, *, sessions: int, senders: int, messages: int) -> Verdict:
    """Every sender sends its share to random sessions, all at the same time."""
    names = [f"agent-{n}" for n in range(sessions)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(sm.new_demo, names))
    # A ledger for each sender: order is kept for what one sender sent one session.
    ledgers = [Ledger(sm) for _ in range(senders)]
    share = messages // senders
    threads = [
        threading.Thread(target=_send_share, args=(ledger, names, share, number))
        for number, ledger in enumerate(ledgers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until(ledgers[0].all_done, 600, seen=lambda: sm.run("ls"))
    return sum((ledger.judge() for ledger in ledgers), Verdict())


def _send_share(ledger: Ledger, names: list[str], share: int, number: int) -> None:
    chance = random.Random(number)
    for count in range(share):
        mode = "important" if chance.random() < 0.2 else "sequential"
        ledger.send(chance.choice(names), f"sender {number}, message {count}", mode=mode)
