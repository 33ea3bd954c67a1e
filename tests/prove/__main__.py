"""`make prove`: the whole sizes, one table."""

import sys
import time
from collections.abc import Callable, Iterator

from tests.kit.sm import Sm, sm_home
from tests.prove import (
    channels,
    chaos,
    claude_passage,
    claude_recall,
    claude_rescue,
    claude_server,
    commits,
    crash_loop,
    crowd,
    drafts,
    fallbacks,
    foreign_facts,
    foreign_secrets,
    handoffs,
    ladder,
    recollection,
    rescue,
    rescue_commits,
    runs,
    texts,
    walkaway,
)
from tests.prove.ledger import Verdict


def commit_points(sm: Sm) -> tuple[Verdict, str]:
    total, points = Verdict(), {"before": 0, "after": 0}
    for at, when, verdict in commits.every_commit(sm):
        total += verdict
        points[when] += 1
        if not verdict.holds:
            print(f"  commit {at} ({when}): {verdict}", flush=True)
    return total, f"{points['before']} points before, {points['after']} after the commit"


def all_texts(sm: Sm) -> tuple[Verdict, str]:
    results = texts.exact(sm)
    wrong = [name for name, exact in results.items() if not exact]
    verdict = Verdict(sent=len(results), once=len(results) - len(wrong), changed=len(wrong))
    return verdict, "byte-identical" if not wrong else f"wrong: {wrong}"


def faults(
    fault: Callable[[Sm], None], times: int, pause: float
) -> Callable[[Sm], tuple[Verdict, str]]:
    def run(sm: Sm) -> tuple[Verdict, str]:
        verdict = chaos.under_faults(sm, fault, times=times, pause=pause)
        return verdict, f"{times} faults, {sm.health()['restarts']} restarts"

    return run


def whole_crowd(sm: Sm) -> tuple[Verdict, str]:
    verdict = crowd.crowd(sm, sessions=100, senders=20, messages=2000)
    return verdict, "100 sessions, 20 senders"


def claude(seed: int, *, installed: bool = False) -> Callable[[Sm], tuple[Verdict, str]]:
    return lambda sm: ladder.mixed(sm, messages=100, seed=seed, installed=installed)


def handoff_points(
    points: Callable[[Sm], Iterator[tuple[int, str, Verdict]]],
) -> Callable[[Sm], tuple[Verdict, str]]:
    def run(sm: Sm) -> tuple[Verdict, str]:
        total, reached = Verdict(), 0
        for at, when, verdict in points(sm):
            total += verdict
            reached += 1
            if not verdict.holds:
                print(f"  commit {at} ({when}): {verdict}", flush=True)
        return total, f"{reached} points"

    return run


PROOFS: dict[str, Callable[[Sm], tuple[Verdict, str]]] = {
    "texts": all_texts,
    "kill -9 at every commit point": commit_points,
    "kill -9 at 500 random moments": faults(chaos.kill_worker, 500, 1.5),
    "tmux control connection cut": faults(chaos.cut_control, 25, 1.5),
    "SIGSTOP for 5 s": faults(chaos.stop_worker, 25, 1.0),
    "crowd": whole_crowd,
    "the real Claude Code in random states": claude(1),
    "the real Claude Code, after sm install": claude(2, installed=True),
    "automatic documents against planted facts": drafts.planted_facts,
    "automatic documents against foreign facts": foreign_facts.foreign_facts,
    "recollections from missing, spoilt and huge sources": recollection.every_case,
    "redaction against foreign secrets": foreign_secrets.foreign_secrets,
    "20 handoffs of the real Claude Code": lambda sm: handoffs.real_client(sm, times=20),
    "50 messages while it hands over": lambda sm: handoffs.sent_meanwhile(sm, messages=50),
    "an unattended task of the real Claude Code": walkaway.prove_task,
    "unattended tasks side by side, demo": lambda sm: walkaway.side_by_side(
        sm, sessions=5, steps=340, timeout=1800
    ),
    "kill -9 at every commit of a handoff, demo": handoff_points(handoffs.every_commit),
    "kill -9 at every commit of a handoff, real Claude Code": handoff_points(
        handoffs.every_commit_of_the_real_client
    ),
    "50 sessions race for what waits in a channel": lambda sm: channels.race(sm, sessions=50),
    "1,000 random faults, 20 sessions at work": rescue.thousand_faults,
    "an agent that dies every time": crash_loop.given_up,
    "sessions with ruined remains": fallbacks.each,
    "the real Claude Code killed at all it does": claude_rescue.every_death,
    "the real Claude Code killed while it hands over": claude_passage.every_passage,
    "five of the real Claude Code lose their tmux server": claude_server.lost_server,
    "a long recovery prompt to the real Claude Code": claude_recall.long_conversations,
    "secrets in what a recovery shows and tells": claude_recall.no_secrets,
    "kill -9 at every commit of a recovery, demo": handoff_points(rescue_commits.every_commit),
    "sm run: 30 steps, demo": lambda _: runs.alone(steps=30, fill=5),
    "sm run: 30 steps, real Claude Code": lambda _: runs.real_client(steps=30),
    "sm run: two side by side": lambda _: runs.side_by_side(sessions=2, rotations=40),
    "sm run: five side by side": lambda _: runs.side_by_side(sessions=5, rotations=200),
    "sm run: told to end at 60 random moments": lambda _: runs.told_to_end(60),
    "sm run: kill -9 at 200 random moments": lambda _: runs.killed_at_random(200),
}


def main(wanted: list[str]) -> int:
    rows = []
    for name, proof in PROOFS.items():
        if wanted and not any(word in name for word in wanted):
            continue
        print(f"… {name}", flush=True)
        began = time.monotonic()
        with sm_home() as sm:
            verdict, words = proof(sm)
        rows.append((name, verdict, words, time.monotonic() - began))
        print(_row(*rows[-1]), flush=True)
    print("\n| proof | sent | once | lost | doubled | changed | disordered | no receipt | time |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(_row(*row))
    return 0 if all(verdict.holds for _, verdict, _, _ in rows) else 1


def _row(name: str, v: Verdict, words: str, seconds: float) -> str:
    return (
        f"| {name} ({words}) | {v.sent} | {v.once} | {v.lost} | {v.doubled} | {v.changed} "
        f"| {v.disordered} | {v.unreceipted} | {seconds:.0f} s |"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
