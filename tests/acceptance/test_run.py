"""sm run: somebody starts an agent in their terminal, and walks away."""

from pathlib import Path

import pytest

from tests.kit.claude import BOX
from tests.kit.runs import FULL, Run, Task, run_desk, told
from tests.kit.tmux import wait_until
from tests.prove import runs, walkaway


def test_a_task_goes_on_through_three_contexts() -> None:
    """Each step once and in order; each context has the person's request word for word."""
    with run_desk() as desk:
        task = Task(folder=desk.folder / "task", steps=12, fills=(4,))
        run = desk.run("--", "demo", *task.arguments)

        assert run.ended(40) == 0
        assert task.done == task.wanted
        assert len(task.contexts()) == 3
        assert runs.mixed_up(task, set()) == []
        desk.expect_nothing_left()


def test_the_persons_arguments_stay_and_their_prompt_does_not() -> None:
    """The next context goes on from its document, not from the first prompt."""
    with run_desk() as desk:
        task = Task(folder=desk.folder / "task", steps=3, fills=(2,), last="%say waits")
        own = ["--window", "190000", "--idle-notice", "77"]
        run = desk.run("--", "demo", *own, *task.arguments)
        wait_until(lambda: task.done == task.wanted, 30, seen=run.report)
        words = _words(run.agent)
        run.wait_idle()
        run.shell.type("/exit")

        assert run.ended() == 0
        for pair in (own[:2], own[2:], task.arguments[:2], task.arguments[2:4]):
            assert _has(words, pair)
        assert task.request not in words
        assert words[-1].startswith("Continue from where you left off.")


def test_what_the_first_context_finished_the_third_does_not_do_again() -> None:
    """Its document tells what became of every request, not of the last context's alone."""
    with run_desk() as desk:
        done = desk.cwd / "three.txt"
        run = desk.run("--", "demo", "--delay", "0", "%task 5 echo t-{} >> three.txt")
        wait_until(lambda: done.exists() and done.read_text().count("t-") == 5, 20)
        run.wait_idle()
        for handoffs in (1, 2):
            run.sm("send", run.name, f"please note {handoffs}\n%usage {FULL}\n%say fine")
            wait_until(lambda n=handoffs: _rotated(run, n), 30, seen=run.report)  # type: ignore[misc]
            run.wait_idle()

        document = Path(run.handoffs()[-1]["document"]).read_text()
        assert done.read_text().split() == [f"t-{n}" for n in range(1, 6)]
        before = document.partition("## Before this context")[2].partition("\n## ")[0]
        assert "echo t-5 >> three.txt" in before
        assert run.handoffs()[0]["document"] in before


def _rotated(run: Run, times: int) -> bool:
    found = run.handoffs()
    return len(found) == times and bool(found[-1]["state"] == "done")


def test_two_runs_in_one_project_are_never_mixed_up() -> None:
    """Each is handed over by its own fill alone, and goes on with its own document."""
    verdict, words = runs.side_by_side(sessions=2, rotations=8)

    assert verdict.holds, words
    assert words == "2 runs, 8 rotations, 0 mix-ups"


def test_runs_killed_at_random_moments_leave_nothing_and_lose_nothing() -> None:
    tolls, verdict, words = runs.killed(times=3)

    assert verdict.holds, words
    assert [toll.kills for toll in tolls.values()] == [1, 1, 1]


@pytest.mark.claude
def test_the_real_client_goes_on_through_three_contexts() -> None:
    verdict, words = runs.real_client(steps=12)

    assert verdict.holds, words
    assert int(words.split()[0]) >= 3


@pytest.mark.claude
def test_the_real_client_is_stopped_with_ctrl_z_and_continued() -> None:
    """The shell is there meanwhile; afterwards the client is where it was."""
    task = walkaway.Task(steps=1, file=Path())
    with runs.claude_desk(task) as (desk, _):
        run = desk.run("--", "claude", walkaway.TASK)
        wait_until(lambda: task.lines == task.wanted, 40, seen=run.report)
        run.wait_idle()
        _stop_and_continue(run)
        run.shell.submit("/exit")
        wait_until(lambda: run.shell.has_prompt() and run.shell.code == 0, 20, seen=run.report)
        desk.expect_nothing_left()


def _stop_and_continue(run: Run) -> None:
    shell = run.shell
    shell.press("C-z")
    wait_until(lambda: shell.has_prompt() and shell.code == 148, 20, seen=run.report)
    shell.type("fg")
    wait_until(lambda: BOX in shell.screen().rpartition("] fg")[2], 20, seen=run.report)


def _words(pid: int | None) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]


def _has(words: list[str], pair: list[str]) -> bool:
    return any(words[at : at + 2] == pair for at in range(len(words)))


def test_what_each_context_is_told_first_names_its_handoff() -> None:
    """The document is loaded at its start; its first prompt says where the rest is."""
    with run_desk() as desk:
        task = Task(folder=desk.folder / "task", steps=2, fills=(1,))
        run = desk.run("--", "demo", *task.arguments)

        assert run.ended() == 0
        second = told(task.contexts()[1])
        document = next(run.session.glob("handoffs/*/document.md"))
        assert f"=== HANDOFF LOADED (ID: {document.parent.name}) ===" in second
        assert f"read {document}" in second
