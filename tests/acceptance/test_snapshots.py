"""What a terminal held is there when the terminal is not."""

import json
import stat
import subprocess
from pathlib import Path

import pytest

from sm.redaction.redactor import Redactor
from tests.kit.runs import run_desk
from tests.kit.secrets_generator import GENERATORS, leaks, planted
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until


def kept(sm: Sm, name: str, words: str) -> bool:
    """Whether the last snapshot holds these words."""
    found = sm.json("snapshot", name, "--list")
    return bool(found) and words in Path(found[0]["path"]).read_text()


def kill_tmux(sm: Sm) -> None:
    pane, socket = sm.pane("ada"), sm.health()["tmux"]
    sm.tmux("kill-pane", "-t", pane)
    subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)


def test_the_last_words_outlive_the_pane_and_the_tmux_server(sm: Sm) -> None:
    """By themselves: nobody asked for the snapshot."""
    sm.new_demo("ada")
    for words in ("the first answer", "the very last words"):
        sm.run("send", "ada", f"%say {words}", "--wait", "20")
        sm.run("wait", "ada")
    wait_until(lambda: kept(sm, "ada", "● the very last words"), 20)

    kill_tmux(sm)
    sm.wait_state("ada", "crashed")

    shown = sm.run("snapshot", "ada", "--show")
    assert "● the first answer" in shown
    assert "● the very last words" in shown
    done = sm.start("snapshot", "ada")
    assert (done.returncode, "The last one that was kept" in done.stderr) == (1, True)


def test_the_daemon_may_be_killed_before_it_has_kept_a_turn(sm: Sm) -> None:
    """The next one looks what is missing."""
    sm.new_demo("ada")
    sm.run("send", "ada", "%say the very last words", "--wait", "20")
    sm.run("wait", "ada")
    sm.kill_worker()

    wait_until(lambda: kept(sm, "ada", "● the very last words"), 20)


def test_an_agent_that_dies_leaves_what_it_showed_last(sm: Sm) -> None:
    """A command of any kind: nothing but its pane tells why."""
    sm.run("new", "ada", "--agent", "sh -c 'read line; echo out of luck; exit 3'")
    sm.tmux("send-keys", "-t", sm.pane("ada"), "Enter")
    sm.wait_state("ada", "crashed")

    wait_until(lambda: kept(sm, "ada", "out of luck"), 20)
    assert [s["why"] for s in sm.json("snapshot", "ada", "--list")] == ["crash"]


@pytest.mark.parametrize("seed", [1, 2])
def test_secrets_on_the_screen_are_not_shown(sm: Sm, seed: int) -> None:
    """Of every kind; the file has them, for its owner alone."""
    samples = [next(planted(kind, 1, seed)) for kind in GENERATORS]
    assert len(samples) >= 20
    redactor = Redactor()
    wanted = [s for s in samples if not leaks(s, redactor.redact(s.text))]
    text = "\n".join(["begin", *(s.text.replace("\t", " ") for s in wanted), "the end"])
    (sm.work / "secrets").write_text(text)
    sm.run("new", "ada", "--agent", "sh -c 'cat secrets; sleep 1000'")
    wait_until(lambda: "the end" in sm.run("tail", "ada"))

    taken = sm.json("snapshot", "ada")
    shown = sm.run("snapshot", "ada", "--show")
    as_json = sm.run("snapshot", "ada", "--show", "--json")

    assert len(wanted) >= 0.9 * len(samples)
    assert "the end" in shown
    for sample in wanted:
        assert not leaks(sample, shown), sample.kind
        assert not leaks(sample, json.loads(as_json)["text"]), sample.kind
    assert stat.S_IMODE(Path(taken["path"]).stat().st_mode) == 0o600
    log = sm.home.log.read_text()
    assert not any(leaks(sample, log) for sample in wanted)


def test_snapshots_lie_where_the_configuration_says(sm: Sm) -> None:
    """Each session in a folder of its own, closed to others."""
    sm.base.mkdir(parents=True)
    sm.home.config.write_text("[recovery]\nsnapshot_dir = '~/kept here'\n")
    session = sm.new_demo("ada")

    path = Path(sm.json("snapshot", "ada")["path"])

    assert path.parent == sm.folder / "kept here" / session
    assert [stat.S_IMODE(p.stat().st_mode) for p in (path.parent, path)] == [0o700, 0o600]


def test_nothing_is_kept_where_recovery_is_switched_off(sm: Sm) -> None:
    sm.base.mkdir(parents=True)
    sm.home.config.write_text("[recovery]\nenabled = false\n")
    session = sm.new_demo("ada")
    sm.run("send", "ada", "%say words", "--wait", "20")
    done = sm.start("snapshot", "ada")

    assert (done.returncode, "recovery.enabled is false" in done.stderr) == (1, True)
    assert not (sm.home.sessions / session / "snapshots").exists()


def test_the_heartbeat_keeps_an_agent_that_reports_nothing(sm: Sm) -> None:
    sm.base.mkdir(parents=True)
    sm.home.config.write_text("[recovery]\nsnapshot_interval = '1s'\n")
    sm.run("new", "ada", "--agent", "sh -c 'echo here I am; sleep 1000'")

    wait_until(lambda: kept(sm, "ada", "here I am"), 20)
    assert [s["why"] for s in sm.json("snapshot", "ada", "--list")] == ["heartbeat"]


def test_a_run_in_somebodys_terminal_is_kept_too() -> None:
    """`sm run`: the same command, answered by the run."""
    with run_desk() as desk:
        run = desk.run("--", "demo", "--delay", "0", "%say in my own terminal")
        run.wait_idle()
        wait_until(lambda: run.json("snapshot", run.name, "--list"), 20, seen=run.report)

        assert "● in my own terminal" in run.sm("snapshot", run.name, "--show")
        taken = run.json("snapshot", run.name)
        assert Path(taken["path"]).parent == run.session / "snapshots"
        run.shell.type("/exit")
        assert run.ended() == 0
