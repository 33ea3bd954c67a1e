"""sm run: one agent in somebody's terminal, from its start to its exit code."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.kit.runs import CONFIG, FULL, Desk, Run, Task, alive, contexts, run_desk, told
from tests.kit.sm import SM
from tests.kit.tmux import wait_until
from tests.kit.untested import leave_untested

QUICK = ("--delay", "0", "--record-delay", "0")


def _demo(desk: Desk, *arguments: str) -> Run:
    return desk.run("--", "demo", *QUICK, *arguments)


def _idle(desk: Desk, *arguments: str) -> Run:
    """An agent that waits for a person."""
    run = _demo(desk, "--received", str(desk.folder / "received"), *arguments)
    run.wait_idle()
    return run


# --- how it ends --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("%exit", 0),
        ("%crash exit 3", 3),
        ("%crash exit 130", 130),
        ("%crash SIGTERM", 143),
        ("%crash SIGKILL", 137),
        ("%crash SIGSEGV", 139),
    ],
)
def test_the_exit_code_is_the_agents(desk: Desk, ending: str, code: int) -> None:
    """As the shell would show it without sm; and the agent is not started again."""
    run = _demo(desk, "--received", str(desk.folder / "received"), f"%say hello\n{ending}")

    assert run.ended() == code
    assert run.file["code"] == code
    assert len(contexts(desk.folder / "received")) == 1
    # A crash may be brought back; an end is an end.
    is_over = run.file["ended_at"] is not None
    assert is_over == (code == 0)
    assert (f"sm recover {run.name}" in run.shell.history()) == (not is_over)


def test_ctrl_c_twice_leaves_for_good() -> None:
    """Though its context is full, and about to be handed over."""
    with run_desk(config=CONFIG.replace('deadline = "0s"', 'deadline = "10m"')) as desk:
        run = _idle(desk, f"%usage {FULL}\n%say full")
        wait_until(lambda: "CRITICAL" in run.sm("show", run.name), seen=run.report)
        # The warning comes by itself, as a turn of its own.
        run.wait_idle()
        run.shell.press("C-c")
        wait_until(lambda: "Press Ctrl-C again" in run.shell.screen(), seen=run.report)
        run.shell.press("C-c")

        assert run.ended() == 0
        assert len(contexts(desk.folder / "received")) == 1
        desk.expect_nothing_left()


def test_the_agent_inherits_nothing_of_ours(desk: Desk) -> None:
    """No lock, no socket, no store: what it starts and leaves running would keep them open."""
    run = _idle(desk)
    files = [str(file.readlink()) for file in Path(f"/proc/{run.agent}/fd").iterdir()]
    own = [file for file in files if str(desk.base) in file or file.startswith("socket:")]
    run.shell.type("/exit")

    assert run.ended() == 0
    assert own == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0), (signal.SIGHUP, 129)]
)
def test_a_signal_to_the_wrapper_is_the_agents(
    desk: Desk, number: signal.Signals, code: int
) -> None:
    """The agent ends in its own way, and its code is the wrapper's."""
    run = _idle(desk)
    os.kill(run.pid, number)

    assert run.ended() == code
    assert len(contexts(desk.folder / "received")) == 1


def test_a_wrapper_killed_with_9_takes_its_agent_along(desk: Desk) -> None:
    run = _idle(desk)
    agent = run.agent
    assert agent is not None
    os.kill(run.pid, signal.SIGKILL)

    assert run.ended() == 137
    wait_until(lambda: not alive(agent), 3)
    wait_until(lambda: not desk.leftovers(), 3, seen=desk.leftovers)
    # Nobody was left to tidy up: what it left must not be taken for a run that goes on.
    told = run.start("show", run.name)
    assert (told.returncode, told.stdout) == (2, "")
    assert "has ended" in told.stderr
    for left in desk.runtime.rglob("*.sock"):
        left.unlink()
    (run.session / "launch.json").unlink(missing_ok=True)
    for settings in run.session.glob("*-settings.json"):
        settings.unlink()


def test_an_agent_killed_with_9_ends_the_run(desk: Desk) -> None:
    run = _idle(desk)
    agent = run.agent
    assert agent is not None
    os.kill(agent, signal.SIGKILL)

    assert run.ended() == 137
    # Nothing was said in it yet.
    assert run.file["ended_at"] is not None
    assert "sm recover" not in run.shell.history()


def test_a_crashed_agent_comes_back_in_tmux(desk: Desk) -> None:
    """The session is the daemon's from the first time that anybody asks, and has all it had."""
    run = _idle(desk, "%say hello")
    wait_until(Path(run.show()["context"]["transcript"]).exists, seen=run.report)
    wait_until(lambda: "● hello" in run.shell.screen(), seen=run.report)
    session, agent = run.file["id"], run.agent
    assert agent is not None
    os.kill(agent, signal.SIGKILL)
    assert run.ended() == 137
    words = f"sm: the agent was ended by signal 9. To bring {run.name} back, in tmux:"
    assert words in run.shell.history()

    (listed,) = desk.json("ls")
    assert (listed["id"], listed["name"], listed["state"]) == (session, run.name, "crashed")
    assert run.file["ended_at"] is not None
    (told,) = desk.json("notices")
    assert told["words"].startswith(f"{run.name} crashed: ")
    desk.sm("recover", run.name)
    desk.sm("wait", run.name, "--timeout", "20")

    shown = desk.json("show", run.name)
    back = shown["recoveries"][-1]
    assert (shown["state"], back["way"]) == ("idle", "resume"), back
    assert "hello" in desk.sm("log", run.name)
    desk.sm("kill", run.name)
    wait_until(lambda: desk.json("ls") == [])
    desk.sm("daemon", "stop")


def test_a_crash_right_after_the_first_prompt_can_be_brought_back(desk: Desk) -> None:
    """Its agent had not written anything down yet, but has reported what it was asked."""
    run = desk.run("--", "demo", "--delay", "0", "please port the tests\n%crash")

    assert run.ended() != 0
    assert f"sm recover {run.name}" in run.shell.history()
    assert [one["state"] for one in desk.json("ls")] == ["crashed"]
    desk.sm("kill", run.name)
    desk.sm("daemon", "stop")


def test_a_crashed_run_can_be_asked_for_at_once(desk: Desk) -> None:
    """Though a daemon that runs looks for such runs only now and then."""
    desk.sm("daemon", "start")
    run = _demo(desk, "%say hello\n%crash SIGKILL")
    assert run.ended() == 137

    assert "back at work" in desk.sm("recover", run.name)
    desk.sm("kill", run.name)
    desk.sm("daemon", "stop")


def test_a_name_is_one_sessions_until_it_has_ended(desk: Desk) -> None:
    """Whether that is a run or in tmux, and also while it is crashed."""
    session = desk.sm("new", "foo", "--prompt", "%crash SIGKILL").strip()
    wait_until(lambda: desk.json("show", "foo")["state"] == "crashed")
    assert "'foo' is taken" in _refused(desk, "--name", "foo", "--", "demo")[1]

    run = _idle(desk, "%say hello")
    assert f"{run.name} is taken" in _refusal(desk, "rename", session, run.name)
    assert "'foo' is taken" in _refusal(desk, "rename", run.name, "foo")
    desk.sm("rename", run.name, "young")
    wait_until(lambda: any(noted["name"] == "young" for noted in desk.runs()))
    desk.sm("rename", session, run.name)
    desk.sm("kill", session)
    desk.sm("kill", "young")
    run.ended()
    desk.sm("daemon", "stop")


def _refusal(desk: Desk, *arguments: str) -> str:
    """What a command says that is refused."""
    done = subprocess.run(
        [str(SM), *arguments], env=desk.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout
    return done.stderr


@pytest.mark.parametrize("ending", ["kill", "/exit"])
def test_a_run_that_ended_can_still_be_looked_at(desk: Desk, ending: str) -> None:
    """As any session, once its own engine is gone: what it showed, was sent and handed over."""
    desk.sm("daemon", "start")
    run = _idle(desk, "%say hello")
    desk.sm("send", run.name, "%say the lamp is green", "--wait", "20")
    run.wait_idle()
    desk.sm("kill", run.name) if ending == "kill" else run.shell.type("/exit")
    run.ended()

    assert desk.json("ls") == []
    assert [(one["name"], one["state"]) for one in desk.json("ls", "--all")] == [
        (run.name, "ended")
    ]
    assert desk.json("show", run.name)["state"] == "ended"
    assert "the lamp is green" in desk.sm("log", run.name)
    assert [one["state"] for one in desk.json("messages", run.name)] == ["done"]
    assert desk.json("handoffs", run.name) == []
    again = desk.run("--", "demo", "--delay", "0", "%exit")
    assert again.ended() == 0
    desk.sm("new", run.name)
    assert desk.json("show", run.name)["state"] != "ended"
    desk.sm("kill", run.name)
    desk.sm("daemon", "stop")


def test_an_agent_that_never_spoke_leaves_nothing_to_bring_back(desk: Desk) -> None:
    """A wrong argument, for one: the shell shows the agent's own complaint, and that is all."""
    run = desk.run("--", "demo", "--no-such-option")

    assert run.ended() == 2
    assert run.file["ended_at"] is not None
    assert "sm recover" not in run.shell.history()


def test_without_recovery_a_crash_is_the_end() -> None:
    with run_desk(config=f"{CONFIG}\n[recovery]\nenabled = false\n") as desk:
        run = _demo(desk, "%say hello\n%crash SIGKILL")

        assert run.ended() == 137
        assert run.file["ended_at"] is not None
        assert "sm recover" not in run.shell.history()
        desk.expect_nothing_left()


AUTO = f"{CONFIG}\n[recovery]\nauto_recover = true\n"


def _pausing(desk: Desk) -> Run:
    """A run whose agent died three times: the next one comes after five seconds."""
    ended: list[int | None] = [None]
    run = _idle(desk, "%say hello")
    for _ in range(3):
        wait_until(lambda: run.agent not in ended, 20, seen=run.report)
        ended.append(_killed(run))
    wait_until(lambda: _said_last(run).endswith(" in 5 s. To leave: Ctrl-C"), 20, seen=run.report)
    return run


def test_a_run_whose_agent_is_given_up_says_so_once() -> None:
    """On its terminal, and in the daemon's notices as soon as anybody asks."""
    config = f'{AUTO}crash_budget = "2 in 10m"\n'
    with run_desk(config=config) as desk:
        desk.sm("daemon", "start")
        run = _idle(desk, "%say hello")
        first = _killed(run)
        wait_until(lambda: run.agent not in (None, first), 20, seen=run.report)
        run.wait_idle()
        _killed(run)

        assert run.ended() == 137
        given_up = "it crashed 2 times in 10 minutes and is not brought back any more"
        assert f"sm: the agent was ended by signal 9; {given_up}. To" in run.shell.history()
        assert [bool(one["hopeless"]) for one in desk.json("ls")] == [True]
        told = [one["words"] for one in desk.json("notices")]
        assert len([words for words in told if given_up in words]) == 1, told
        desk.sm("kill", run.name)


def _killed(run: Run) -> int | None:
    """The agent, which dies of it."""
    agent = run.agent
    assert agent is not None
    os.kill(agent, signal.SIGKILL)
    return agent


def _said_last(run: Run) -> str:
    """What sm wrote last into the terminal."""
    return [line for line in run.shell.history().splitlines() if line.startswith("[sm] ")][-1]


def test_ctrl_c_leaves_a_run_that_waits_for_its_next_agent() -> None:
    """At once, with an interrupt's exit code; the session is there for whoever asks for it."""
    with run_desk(config=AUTO) as desk:
        run = _pausing(desk)
        run.shell.press("C-c")

        assert run.ended(4) == 130
        assert f"To bring {run.name} back, in tmux: sm recover {run.name}" in run.shell.history()
        assert "back at work" in desk.sm("recover", run.name)
        desk.sm("kill", run.name)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_that_waits_for_its_next_agent(number: signal.Signals) -> None:
    with run_desk(config=AUTO) as desk:
        run = _pausing(desk)
        os.kill(run.pid, number)

        assert run.ended(4) == 128 + number
        assert [one["state"] for one in desk.json("ls")] == ["crashed"]


def test_a_closed_window_ends_a_run_that_waits_for_its_next_agent() -> None:
    """Nobody reads its last words; that it is over is known all the same."""
    with run_desk(config=AUTO) as desk:
        run = _pausing(desk)
        wrapper = run.pid
        desk.tmux.run("kill-pane", "-t", run.shell.pane)

        wait_until(lambda: not alive(wrapper), 4)
        assert run.file["code"] == 128 + signal.SIGHUP
        assert [one["state"] for one in desk.json("ls")] == ["crashed"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("pauses", [True, False], ids=["between two agents", "with an agent"])
def test_told_to_end_again_and_again_it_ends_once(number: signal.Signals, *, pauses: bool) -> None:
    """A closed window is told by the system, and by its shell: that it is over is noted all the
    same."""
    with run_desk(config=AUTO) as desk:
        run = _pausing(desk) if pauses else _idle(desk, "%say hello")
        wrapper = run.pid
        while alive(wrapper):
            with contextlib.suppress(ProcessLookupError):
                os.kill(wrapper, number)
            time.sleep(0.001)

        assert run.ended(4) == 128 + number
        assert run.file["code"] == 128 + number


def test_an_agent_told_to_end_is_not_brought_back() -> None:
    """Its signal looks like a crash, but was meant."""
    with run_desk(config=AUTO) as desk:
        run = _idle(desk, "%say hello")
        os.kill(run.pid, signal.SIGTERM)

        assert run.ended(4) == 143
        assert run.file["ended_at"] is not None


def test_the_terminal_is_as_it_was(desk: Desk) -> None:
    """After a clean end, and after an agent that died in raw mode."""
    for ending in ("%exit", "%crash SIGKILL"):
        shell = desk.shell()
        before = shell.attributes()
        run = Run(shell=shell, name=f"r{ending[1]}")
        shell.type(f"sm run --name {run.name} -- demo --delay 0 '{ending}'")
        run.ended()

        # The shell puts its own line editor on; seen from a command, it is as before.
        assert shell.attributes() == before


def test_a_closed_terminal_ends_the_agent(desk: Desk) -> None:
    run = _idle(desk)
    agent, wrapper = run.agent, run.pid
    assert agent is not None
    desk.tmux.run("kill-pane", "-t", run.shell.pane)

    wait_until(lambda: not alive(agent) and not alive(wrapper), 8)


# --- the terminal -------------------------------------------------------------------------------


def test_window_size_and_resize_reach_the_agent(desk: Desk) -> None:
    run = _demo(desk)

    def rule(width: int) -> bool:
        lines = run.shell.screen().splitlines()
        return any(set(text) == {"─"} and len(text) == width for text in lines)

    wait_until(lambda: rule(120), seen=run.report)
    run.shell.resize(77, 20)
    wait_until(lambda: rule(77), seen=run.report)

    run.shell.type("/exit")
    assert run.ended() == 0


def test_the_next_context_has_the_size_of_now(desk: Desk) -> None:
    """A window that was resized meanwhile."""
    task = Task(folder=desk.folder / "task", steps=2, fills=(1,), last="%say waits")
    run = desk.run("--", "demo", *task.arguments)
    run.shell.resize(90, 30)
    wait_until(lambda: len(task.contexts()) == 2, 20, seen=run.report)
    run.wait_idle()

    wait_until(lambda: f"\n{'─' * 90}\n" in run.shell.screen(), seen=run.report)
    run.shell.type("/exit")
    assert run.ended() == 0


def test_a_stopped_agent_gives_the_shell_back_and_goes_on_with_fg(desk: Desk) -> None:
    run = _idle(desk)
    agent = run.agent
    assert agent is not None
    os.kill(agent, signal.SIGTSTP)
    wait_until(lambda: run.shell.has_prompt() and run.shell.code == 148, seen=run.report)
    run.shell.type("echo in the shell")
    wait_until(lambda: "\nin the shell" in run.shell.screen(), seen=run.report)

    run.shell.type("fg")
    wait_until(lambda: not run.shell.has_prompt(), seen=run.report)
    run.shell.type("%say again here")
    wait_until(lambda: "● again here" in run.shell.screen(), seen=run.report)
    run.shell.type("/exit")
    wait_until(lambda: run.shell.has_prompt() and run.shell.code == 0, seen=run.report)


# --- from one context to the next ---------------------------------------------------------------


def test_the_agent_hands_over_by_itself(desk: Desk) -> None:
    """`sm handoff FILE` inside a run: the same as in a session of the daemon."""
    document = desk.cwd / "doc.md"
    document.write_text("# What I know\n\nThe lamp is green.\n")
    script = desk.folder / "script"
    script.write_text(f"%tool cp /dev/null {script}\n%tool sm handoff doc.md\n")
    received = desk.folder / "received"
    run = _demo(desk, "--script", str(script), "--received", str(received), "Find the lamp.")
    wait_until(lambda: len(contexts(received)) == 2, 20, seen=run.report)
    run.wait_idle()

    assert [(h["kind"], h["state"]) for h in run.handoffs()] == [("self", "done")]
    copied = next(run.session.glob("handoffs/*/document.md"))
    assert copied.read_text() == document.read_text()
    assert f"Read {copied} and continue" in told(contexts(received)[1])
    run.shell.type("/exit")
    assert run.ended() == 0


def test_a_message_reaches_a_run_by_its_own_home(desk: Desk) -> None:
    """Nothing is typed: a person's half sentence stays where it is."""
    run = _idle(desk)
    run.shell.keys("half a sent")
    run.sm("send", run.name, "the lamp is green", "--wait", "20")

    message = run.json("messages", run.name)[0]
    assert message["state"] == "done"
    assert message["route"] in ("doorbell", "stop_reply", "tool_result")
    assert "the lamp is green" in told(contexts(desk.folder / "received")[0])
    assert "half a sent" in run.shell.screen()
    run.shell.press("C-u")
    run.shell.type("/exit")
    assert run.ended() == 0


def test_the_agent_of_a_run_begins_sessions_of_the_daemons(desk: Desk) -> None:
    """They know who began them, and whose messages they are given."""
    desk.sm("daemon", "start")
    run = _idle(desk, "%tool sm new kid --agent demo\n%tool sm send kid hello")
    wait_until(lambda: desk.json("messages"), 20, seen=run.report)

    assert desk.json("show", "kid")["parent"] == run.file["id"]
    assert [message["from"] for message in desk.json("messages", "kid")] == [run.name]
    desk.sm("kill", "kid")
    run.shell.type("/exit")
    assert run.ended() == 0
    desk.sm("daemon", "stop")


def test_no_more_restarts_than_allowed(desk: Desk) -> None:
    """The agent is let be then; whoever looks is told why, and the person at the end, once."""
    task = Task(folder=desk.folder / "task", steps=9, fills=(1,), last="%say the end")
    run = desk.run("--max-restarts", "2", "--", "demo", *task.arguments)
    wait_until(lambda: len(task.contexts()) == 3, 20, seen=run.report)
    wait_until(lambda: "max_restarts" in run.sm("show", run.name), 20, seen=run.report)
    run.wait_idle()

    assert run.sm("show", run.name).count("max_restarts allows") == 1
    assert len(task.contexts()) == 3
    assert task.done == ["step 1", "step 2", "step 3"]
    run.shell.type("/exit")
    assert run.ended() == 0
    assert run.shell.history().count("max_restarts allows") == 1


def test_contexts_that_fill_up_for_nothing_are_not_followed_by_more(desk: Desk) -> None:
    """A context that is full before anything is done in it: the third would be, too."""
    script, received = desk.folder / "script", desk.folder / "received"
    script.write_text(f"%usage {FULL}\n%say busy\n%work 0.5\n%say done")
    run = _demo(desk, "--script", str(script), "--received", str(received), "Begin.")
    wait_until(lambda: "fill up before anything" in run.sm("show", run.name), 60, seen=run.report)

    assert len(contexts(received)) == 3
    run.wait_idle()
    run.shell.type("/exit")
    assert run.ended() == 0
    assert len(contexts(received)) == 3
    assert run.shell.history().count("fill up before anything") == 1


def test_clean_exit_of_a_full_context_is_no_restart(desk: Desk) -> None:
    """Who leaves has left, also at the moment a handoff is due."""
    received = desk.folder / "received"
    run = _demo(desk, "--received", str(received), f"%usage {FULL}\n%say full\n%exit")

    assert run.ended() == 0
    assert len(contexts(received)) == 1


def _obstruct(run: Run) -> None:
    """A script that was only deleted is written again."""
    launch = next(run.folder.glob("*/bin/launch"))
    launch.unlink()
    launch.mkdir()


def test_an_agent_that_cannot_be_started_again_is_said(desk: Desk) -> None:
    """Its program is gone when the next context is to begin: one line, and no silent end."""
    task = Task(folder=desk.folder / "task", steps=2, fills=(1,), pause=1.0)
    run = desk.run("--", "demo", *task.arguments)
    wait_until(task.contexts, 20, seen=run.report)
    _obstruct(run)

    assert run.ended() == 1
    said = [text for text in run.shell.history().splitlines() if text.startswith("sm: ")]
    assert len(said) == 1, run.report()
    assert "launch is not there" in said[0]


def test_what_a_run_says_at_its_end_is_without_secrets() -> None:
    """It quotes what its agent or the system said, and terminals are often recorded."""
    config = f"{CONFIG}\n[redaction.patterns]\nword = 'bin/launch'\n"
    with run_desk(config=config) as desk:
        task = Task(folder=desk.folder / "task", steps=2, fills=(1,), pause=1.0)
        run = desk.run("--", "demo", *task.arguments)
        wait_until(task.contexts, 20, seen=run.report)
        _obstruct(run)

        assert run.ended() == 1
        assert "/[redacted:word] is not there" in run.shell.history()


def test_a_signal_between_two_agents_ends_the_run(desk: Desk) -> None:
    """Nobody is there to take it; its code is that of the signal all the same."""
    task = Task(folder=desk.folder / "task", steps=9, fills=(1,))
    run = desk.run("--", "demo", *task.arguments)
    # It says so right before it ends the one agent and starts the other.
    wait_until(lambda: "[sm] context 1 is full" in run.shell.history(), 20, seen=run.report)
    os.kill(run.pid, signal.SIGTERM)

    assert run.ended() == 143


# --- alone --------------------------------------------------------------------------------------


def test_no_daemon_is_started(desk: Desk) -> None:
    task = Task(folder=desk.folder / "task", steps=2, fills=(1,))
    run = desk.run("--", "demo", *task.arguments)

    assert run.ended() == 0
    assert task.done == task.wanted
    assert not desk.home.pid.exists()
    assert not desk.home.store.exists()


def test_a_daemon_that_dies_with_its_store_is_not_missed(desk: Desk) -> None:
    """The run has its own."""
    subprocess.run(["sm", "daemon", "start"], env=desk.environment, check=True, capture_output=True)
    task = Task(folder=desk.folder / "task", steps=8, fills=(2,), pause=0.1)
    run = desk.run("--", "demo", *task.arguments)
    wait_until(lambda: len(task.done) >= 2, seen=run.report)
    parent = int(desk.home.pid.read_text().split()[0])
    os.kill(parent, signal.SIGKILL)
    for file in desk.home.state.glob("store.db*"):
        file.write_bytes(b"broken" * 1000)

    assert run.ended() == 0
    assert task.done == task.wanted
    desk.home.socket.unlink(missing_ok=True)


def test_tmux_is_not_needed(desk: Desk) -> None:
    """Nothing but a shell and the agent."""
    tools = desk.folder / "bin"
    tools.mkdir()
    for name in ("bash", "sh", "cp", "mv"):
        (tools / name).symlink_to(Path("/bin") / name)
    venv = desk.environment["PATH"].split(":")[0]
    desk.environment["PATH"] = str(tools)
    task = Task(folder=desk.folder / "task", steps=4, fills=(2,))
    (tools / "sm").symlink_to(Path(venv) / "sm")
    run = desk.run("--", "demo", *task.arguments)

    assert run.ended() == 0
    assert task.done == task.wanted


@pytest.mark.parametrize(
    "name",
    [
        "two words",
        'it\'s "quoted"',
        "a:b;c",
        "ü-日本-🪿",
        "$HOME `id` %s",
        "new\nline",
        "-dash",
        "#x",
    ],
)
def test_any_path_will_do(name: str) -> None:
    """As the project's folder, the person's home and sm's own."""
    with run_desk(name=name) as desk:
        # A newline would be the end of the script's own line.
        folder = desk.folder.parent if "\n" in name else desk.folder
        task = Task(folder=folder / "task", steps=4, fills=(2,))
        run = desk.run("--", "demo", *task.arguments)

        assert run.ended() == 0
        assert task.done == task.wanted
        assert run.file["cwd"] == str(desk.cwd)
        assert [task.request in told(context) for context in task.contexts()] == [True, True]
        desk.expect_nothing_left()


# --- refusals -----------------------------------------------------------------------------------


def _refused(desk: Desk, *arguments: str) -> tuple[int, str]:
    """The exit code and the words of a run that does not begin; the terminal stays as it was."""
    shell = desk.shell()
    before = shell.attributes()
    run = Run(shell=shell, name="refused")
    shell.type(" ".join(["clear; sm run", *arguments]))
    code = run.ended(20)
    said = [text for text in shell.history().splitlines() if text.startswith("sm: ")]
    assert len(said) == 1, shell.history()
    assert "Traceback" not in shell.history()
    assert shell.attributes() == before
    return code, said[0]


def test_an_unknown_agent_is_refused(desk: Desk) -> None:
    code, said = _refused(desk, "--", "no-such-agent")

    assert code in (1, 2)
    assert "no-such-agent" in said


def test_an_agent_that_tells_nothing_is_refused(desk: Desk) -> None:
    """Of any other program nobody can tell how full it is: it would never be handed over."""
    code, said = _refused(desk, "--", "cat")

    assert code in (1, 2)
    assert "cat" in said


def test_a_folder_that_cannot_be_written_is_refused(desk: Desk) -> None:
    """One line that names it, exit 2."""
    with _read_only(desk.base):
        code, said = _refused(desk, "--", "demo")

    assert code == 2
    assert str(desk.base) in said


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ("64k", "No space left on device. Make room there, and try again."),
        ("200k", "Check free space and that no other program holds the file."),
    ],
)
def test_a_full_disk_is_refused(desk: Desk, size: str, words: str) -> None:
    """However far it came: of a run that was never begun nothing is left."""
    with _mounted(desk.base, f"size={size}"):
        desk.home.config.write_text("")
        with (desk.base / "filler").open("wb") as filler:
            if size == "64k":
                _fill(filler.fileno())
            else:
                filler.write(bytes(140_000))
        code, said = _refused(desk, "--", "demo")
        left = [*desk.home.state.glob("runs/*")]

    assert left == []
    assert code == 2
    assert str(desk.base) in said
    assert said.endswith(words)


def test_a_disk_that_fills_up_later_changes_no_exit_code(desk: Desk) -> None:
    """What could not be noted is not said into the person's shell."""
    with _mounted(desk.base, "size=4m"):
        run = _idle(desk)
        agent = run.agent
        assert agent is not None
        with (desk.base / "filler").open("wb") as filler:
            _fill(filler.fileno())
        os.kill(agent, signal.SIGKILL)
        wait_until(run.shell.has_ended, 20, seen=run.shell.screen)

        assert run.shell.code == 137
        assert "Traceback" not in run.shell.history()
        assert [file for file in run.session.glob("*.json") if file.name != "state.json"] == []


def _fill(file: int) -> None:
    for piece in (b"x" * 4096, b"x"):
        try:
            while True:
                os.write(file, piece)
        except OSError:
            continue


class _mounted:  # noqa: N801 - used as a function
    """A small file system in a folder, where we may mount one."""

    def __init__(self, folder: Path, options: str) -> None:
        self._folder = folder
        self._options = f"{options},mode=700"

    def __enter__(self) -> None:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", self._options, "tmpfs", self._folder],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            leave_untested(f"A SMALL DISK WAS NOT TESTED: it cannot be mounted: {done.stderr}")

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "-l", self._folder], check=True)


class _read_only(_mounted):  # noqa: N801 - used as a function
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "ro")
