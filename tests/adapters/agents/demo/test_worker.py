"""The demo agent's worker: one job after the other, each with its end reported."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.jobs import (
    Clear,
    Compact,
    Exit,
    Job,
    Prompt,
    RunShell,
    Start,
    TellIdle,
)
from sm.adapters.agents.demo.model import Script
from sm.adapters.agents.demo.options import parse
from sm.adapters.agents.demo.stage import Broken, ClearScreen, Finished, Leave, Show
from sm.adapters.agents.demo.worker import Worker

from .test_conversation import begin, events, given, lines_of, noted
from .test_stage import Audience, listening


@pytest.fixture
def audience() -> Iterator[Audience]:
    with listening() as heard:
        yield heard


def do(talk: Conversation, audience: Audience, *jobs: Job) -> None:
    """Let a worker do these jobs, and Exit after them; wait until it has."""
    options = parse(["--delay", "0"])
    worker = Worker(talk, audience.stage, script=Script(""), options=options)
    for job in (*jobs, Exit()):
        worker.give(job)
    worker.start()
    audience.until(Finished, sum(not isinstance(job, Start | TellIdle) for job in jobs) + 1)


def test_jobs_are_done_in_order_and_the_end_of_each_is_told(
    tmp_path: Path, audience: Audience
) -> None:
    """The screen knows which end is the end of a turn, and why the agent leaves."""
    do(begin(tmp_path), audience, Prompt("%say hello"), RunShell("echo shell"))

    assert [note for note in audience.seen if note != Show("● hello\n")] == [
        Finished(None, turn=True),
        Show("shell\n"),
        Finished(None, turn=False),
        Leave("prompt_input_exit"),
        Finished(None, turn=False),
    ]


def test_a_prompt_that_was_taken_back_is_returned(tmp_path: Path, audience: Audience) -> None:
    """Escape before any output gives the text back, so that it can be put into the box."""
    audience.stage.interrupt.set()
    do(begin(tmp_path), audience, Prompt("never mind"))

    assert audience.until(Finished) == Finished("never mind", turn=True)


def test_the_start_is_reported_and_is_no_work(tmp_path: Path, audience: Audience) -> None:
    """Hooks hear of a new session and its model; nobody is told that a job is over."""
    talk = begin(tmp_path, replies={"SessionStart": "echo you are ada"})
    do(talk, audience, Start())

    (start,) = noted(tmp_path)
    assert (start["source"], start["model"]) == ("startup", "demo-model")
    assert given(tmp_path) == [("you are ada", "hook SessionStart:startup")]
    assert audience.seen[0] == Leave("prompt_input_exit")


def test_a_resumed_session_is_reported_as_resumed(tmp_path: Path, audience: Audience) -> None:
    """Hooks can tell going on from beginning."""
    begin(tmp_path, "--session-id", "s1").transcript.prompt("hello", None)
    do(begin(tmp_path, "--resume", "s1"), audience, Start())

    (start,) = noted(tmp_path)
    assert start["source"] == "resume"
    assert "model" not in start


def test_idleness_is_reported_and_is_no_work(tmp_path: Path, audience: Audience) -> None:
    """A hook hears that the agent waits for a person; the screen does not change."""
    do(begin(tmp_path), audience, TellIdle())

    (notice,) = noted(tmp_path)
    assert notice["notification_type"] == "idle_prompt"
    assert audience.seen[0] == Leave("prompt_input_exit")


def test_clear_ends_one_session_and_begins_another(tmp_path: Path, audience: Audience) -> None:
    """The old id is reported as ended, the new one as begun; the new record says why."""
    talk = begin(tmp_path, "--session-id", "s1")
    do(talk, audience, Clear())

    end, start = noted(tmp_path)
    assert (end["session_id"], end["reason"]) == ("s1", "clear")
    assert (start["session_id"], start["source"]) == (talk.session_id, "clear")
    assert talk.session_id != "s1"
    assert audience.seen[:3] == [
        ClearScreen(), Show("❯ /clear\n"), Finished(None, turn=False)
    ]  # fmt: skip
    _, caveat, command = lines_of(talk.transcript.path)
    assert caveat["isMeta"]
    assert command["message"]["content"] == "<command-name>/clear</command-name>"
    assert command["promptId"] == talk.prompt_id == start["prompt_id"]


def test_compact_is_reported_as_a_persons_wish(tmp_path: Path, audience: Audience) -> None:
    """Hooks can tell /compact from a context that ran full."""
    talk = begin(tmp_path)
    do(talk, audience, Compact())

    assert noted(tmp_path)[0]["trigger"] == "manual"
    assert noted(tmp_path)[0]["prompt_id"] == talk.prompt_id
    assert audience.until(Finished) == Finished(None, turn=False)


def test_a_shell_line_is_shown_and_recorded_without_a_hook(
    tmp_path: Path, audience: Audience
) -> None:
    """What a person runs with ! is asked of nobody, and the model can read it later."""
    talk = begin(tmp_path)
    do(talk, audience, RunShell("pwd; echo err >&2"))

    assert audience.shown() == [f"{tmp_path}\nerr\n"]
    assert events(tmp_path) == []
    _, asked, answered = lines_of(talk.transcript.path)
    assert asked["message"]["content"] == "<bash-input>pwd; echo err >&2</bash-input>"
    output = f"<bash-stdout>{tmp_path}\n</bash-stdout><bash-stderr>err\n</bash-stderr>"
    assert answered["message"]["content"] == output


def test_an_interrupted_shell_line_leaves_no_record(tmp_path: Path, audience: Audience) -> None:
    """Escape ends it; the person is told so, and the worker goes on."""
    talk = begin(tmp_path)
    audience.stage.interrupt.set()
    do(talk, audience, RunShell("sleep 60"))

    assert audience.shown() == ["  ⎿  Interrupted\n"]
    assert not talk.transcript.path.exists()


def test_a_worker_that_breaks_says_so(tmp_path: Path, audience: Audience) -> None:
    """A fault ends the agent with its cause; it never looks like a turn without end."""
    folder = tmp_path / "gone"
    folder.mkdir()
    talk = begin(folder)
    talk.cwd = str(folder / "missing")
    options = parse([])
    worker = Worker(talk, audience.stage, script=Script(""), options=options)
    worker.give(RunShell("true"))
    worker.start()

    assert "FileNotFoundError" in audience.until(Broken).trace
    assert [type(note) for note in audience.seen] == [Broken]
