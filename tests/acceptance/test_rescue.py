"""Sessions come back to work, whatever is done to them: short versions of `make prove`."""

import os
import signal
from pathlib import Path

from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove import crash_loop, fallbacks, reckoning, rescue
from tests.prove.unattended import Deed


def test_under_faults_every_task_is_done_and_no_message_lost(sm: Sm) -> None:
    """Three agents at numbered steps, one in `sm run`; agents, wrapper, daemon and tmux die, a disk
    is full meanwhile."""
    outcome, havoc = rescue.chaos(
        sm, sessions=3, wrapped=1, steps=12, faults=12, pause=0.4, delay=0.2
    )

    assert outcome.verdict.holds, reckoning.fault_table(havoc, outcome)
    assert outcome.orphans == []
    assert outcome.hurt == []
    assert len(havoc.made) >= 12
    assert outcome.recoveries["crashes"] >= 5


def test_a_step_done_again_needs_an_agent_that_died_in_it() -> None:
    """What judges the faults: the last step of a dead agent, or what a full disk did not keep."""
    first, again = Deed(1.0, 100, 1), Deed(2.0, 200, 1)

    def doubled(*done: Deed, blind: list[tuple[float, float]] | None = None) -> int:
        return reckoning.judge_steps(list(done), 2, reckoning.Excuses(blind or [])).doubled

    assert doubled(first, again) == 0
    assert doubled(first, again._replace(agent=100)) == 1, "nobody died"
    both = (first, Deed(1.5, 100, 2), again, Deed(2.5, 200, 2))
    assert doubled(*both) == 1, "only one of them was in flight"
    assert doubled(*both, blind=[(0.5, 1.2)]) == 0


def test_an_agent_that_dies_every_time_is_left_alone_and_that_is_said_once(sm: Sm) -> None:
    """As often as the budget allows; the list, the session's page and the doctor say so."""
    seen = crash_loop.loop(sm, budget=3)

    assert seen.exits == 3
    assert len(seen.told) == 1
    assert (seen.state, seen.next_recovery) == ("crashed", None)
    words = "it crashed 3 times in 15 minutes and is not brought back any more"
    assert "crashed!" in seen.listed
    assert f"! ada: {words}. To try again: sm recover ada\n" in seen.listed
    assert words in seen.shown
    assert (seen.doctor["verdict"], seen.doctor["says"]) == ("bad", words)


def test_whatever_is_left_of_a_session_it_comes_back_and_says_what_it_lacked(sm: Sm) -> None:
    """No transcript, no scrollback, neither, garbage, a long log."""
    verdict, words = fallbacks.each(sm, size=20_000_000)

    assert verdict.holds, words


def test_a_step_that_ended_is_not_done_again_though_the_record_lacks_it(sm: Sm) -> None:
    """The agent's hook told of it, and it was killed before it wrote it down."""
    file = sm.folder / "steps"
    sm.new("ada")
    sm.run("send", "ada", f"%task 6 echo n-{{}} >> {file}; sleep 0.5")
    wait_until(lambda: file.exists() and "n-4" in file.read_text(), 20)
    shown = sm.json("show", "ada")
    os.kill(shown["pid"], signal.SIGKILL)
    sm.wait_state("ada", "crashed")
    transcript = Path(shown["context"]["transcript"])
    whole = transcript.read_text()
    transcript.write_text("".join(whole.splitlines(keepends=True)[: _line(whole, "n-3")]))

    sm.run("recover", "ada")
    wait_until(lambda: "n-6" in file.read_text(), 20)

    steps = file.read_text().split()
    assert steps.count("n-3") == 1
    assert steps.count("n-4") == 2, "it was in flight: nothing tells whether it took effect"


def _line(text: str, words: str) -> int:
    return next(n for n, line in enumerate(text.splitlines()) if words in line)
