"""A real terminal, a real agent in it, and the proxy between the two."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.pty.rig import Desk, Seat, kill, lives, until

PROMPT = b"%> "
ENDINGS = {
    "exits with 0": ("exit 0", 0),
    "exits with 3": ("exit 3", 3),
    "is killed by TERM": ("kill -TERM $$", 128 + 15),
    "is killed by KILL": ("kill -KILL $$", 128 + 9),
}


def as_before(seat: Seat) -> bool:
    return seat.tcgetattr() == seat.settings


def shell(desk: Desk) -> Seat:
    """A person's shell, with job control."""
    seat = desk.sit("bash", "--norc", "--noprofile", "--noediting", "-i")
    # So that the echo of the command is not taken for the prompt.
    seat.type(b"PS1='%''> '\r")
    seat.expect(PROMPT)
    return seat


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_proxy_ends_as_its_agent_did(desk: Desk, ending: str) -> None:
    """The exit code is the agent's own, and the terminal is as it was, to the last bit."""
    command, code = ENDINGS[ending]
    seat = desk.run("bash", "-c", f"echo so; {command}")

    assert seat.wait() == code
    assert seat.seen == b"so\r\n"
    assert as_before(seat)


def test_the_terminal_is_raw_while_the_agent_runs(desk: Desk) -> None:
    """The agent's own terminal begins with the settings of the person's."""
    seat = desk.run("bash", "-c", "stty -g; echo ready; read x")
    shown = seat.expect(b"ready").split(b"\r\n")[0]

    assert not as_before(seat)
    seat.type(b"\r")
    seat.wait()
    plain = desk.sit("stty", "-g")
    plain.wait()
    assert shown == plain.seen.strip()


def test_an_error_inside_ends_the_agent_and_gives_the_terminal_back(desk: Desk) -> None:
    seat = desk.run("bash", "-c", "echo ready; sleep 100", options=["--fail"])
    seat.expect(b"ready")
    agent, _ = desk.pids()
    (desk.folder / "fail").touch()

    assert seat.wait() == 1
    assert b"planted" in seat.seen
    assert as_before(seat)
    assert not lives(agent)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP])
def test_a_signal_to_the_proxy_reaches_the_agent(desk: Desk, number: signal.Signals) -> None:
    """It decides itself what to make of it, and the terminal comes back."""
    seat = desk.run("bash", "-c", f"trap 'echo heard; exit 7' {int(number)}; echo ready; "
                    "while :; do sleep 0.02; done")  # fmt: skip
    seat.expect(b"ready")
    kill(desk.pids()[1], number)

    assert seat.wait() == 7
    assert b"heard" in seat.seen
    assert as_before(seat)


def test_the_agent_sees_the_size_of_the_window(desk: Desk) -> None:
    """At its start and whenever it changes, and so does the log."""
    program = "trap 'stty size' WINCH; stty size; while :; do sleep 0.02; done"
    seat = desk.run("bash", "-c", program, size=(97, 31))
    seat.expect(b"31 97\r\n")
    seat.resize(60, 20)
    seat.expect(b"20 60\r\n")
    kill(desk.pids()[1], signal.SIGTERM)
    seat.wait()

    sizes = [json.loads(line) for line in (desk.folder / "sizes.jsonl").read_text().splitlines()]
    assert [(s["offset"], s["cols"], s["rows"]) for s in sizes] == [(0, 97, 31), (7, 60, 20)]
    assert [set(size) for size in sizes] == [{"at", "cols", "rows", "offset"}] * 2


def test_ctrl_c_reaches_the_agent_alone(desk: Desk) -> None:
    """The agent's own terminal makes a signal of it; the proxy never hears of it."""
    seat = desk.run("bash", "-c", "trap 'echo heard' INT; echo ready; read x; read x; echo $x")
    seat.expect(b"ready")
    seat.type(b"\x03")
    seat.expect(b"heard")
    seat.type(b"on\r")
    seat.type(b"more\r")

    assert seat.wait() == 0
    assert b"heard" not in seat.seen


def test_wide_and_split_characters_pass_unchanged(desk: Desk) -> None:
    text = "日本語 ✻ 🙂 é\u0301"
    seat = desk.run("cat")
    desk.pids()
    for byte in text.encode():
        seat.type(bytes([byte]))
    seat.type(b"\r\x04")

    assert seat.wait() == 0
    assert seat.seen.decode().split("\r\n")[1] == text
    assert desk.raw == seat.seen


def test_ctrl_z_stops_agent_and_proxy_and_fg_brings_both_back(desk: Desk) -> None:
    """The person has their shell meanwhile, with the terminal as it was; twice over."""
    seat = shell(desk)
    seat.type(" ".join(desk.proxy("cat")).encode() + b"\r")
    agent, proxy = desk.pids()
    for word in (b"first", b"second"):
        seat.type(word + b"\r")
        seat.expect(word + b"\r\n" + word + b"\r\n")
        seat.type(b"\x1a")
        seat.expect(b"Stopped")
        seat.expect(PROMPT)
        assert _state(agent) == _state(proxy) == "T"
        seat.resize(50, 20)
        seat.type(b"stty -a | grep -o ' icanon'\r")
        seat.expect(b"\r\n icanon\r\n")
        seat.type(b"fg\r")
        seat.expect(b"proxy.py")
        until(lambda: _state(agent) == "S")
    seat.type(b"third\r")
    seat.expect(b"third\r\nthird\r\n")
    seat.type(b"\x04")
    seat.expect(PROMPT)
    seat.type(b"echo code $?; exit\r")
    seat.expect(b"code 0\r\n")
    seat.wait()


MEAN_SHELL = """
import os, signal, subprocess, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
before = termios.tcgetattr(0)
job = subprocess.Popen(sys.argv[1:], process_group=0, restore_signals=True)
os.tcsetpgrp(0, job.pid)
os.waitpid(job.pid, os.WUNTRACED)
print("stopped", termios.tcgetattr(0) == before, flush=True)
before[3] |= termios.TOSTOP
termios.tcsetattr(0, termios.TCSANOW, before)
os.killpg(job.pid, signal.SIGCONT)
job.wait()
print("ended", job.returncode, termios.tcgetattr(0) == before, flush=True)
"""


def test_a_stopped_proxy_has_given_the_terminal_back_itself(desk: Desk) -> None:
    """Not every shell puts it right; what the person changed meanwhile stays changed."""
    program = "trap 'stty size' WINCH; echo ready; kill -TSTP $$; read x; exit 3"
    seat = desk.sit(sys.executable, "-c", MEAN_SHELL, *desk.proxy("bash", "-c", program))
    seat.expect(b"ready")
    seat.expect(b"stopped True")
    seat.type(b"\r")

    seat.expect(b"ended 3 True")


def test_an_agent_that_stops_itself_in_raw_mode_stops_the_proxy(desk: Desk) -> None:
    """As agents do that read every key: Ctrl-Z is a byte, the stop is their own."""
    program = (
        "import os, signal, sys, tty; tty.setraw(0); os.write(1, b'ready');"
        "assert os.read(0, 1) == b'\\x1a'; os.kill(os.getpid(), signal.SIGTSTP);"
        "os.write(1, b'back'); os.read(0, 1)"
    )
    seat = shell(desk)
    (desk.folder / "program.py").write_text(program)
    seat.type(" ".join(desk.proxy(sys.executable, "program.py")).encode() + b"\r")
    seat.expect(b"ready")
    seat.type(b"\x1a")
    seat.expect(b"Stopped")
    seat.type(b"fg\r")
    seat.expect(b"back")
    seat.type(b"x")
    seat.expect(PROMPT)


def test_a_stopped_proxy_that_is_killed_ends_its_agent(desk: Desk) -> None:
    """Also from the background, where the terminal is not its own."""
    seat = shell(desk)
    seat.type(" ".join(desk.proxy("cat")).encode() + b"\r")
    agent, proxy = desk.pids()
    seat.type(b"x\r")
    seat.expect(b"x\r\nx\r\n")
    seat.type(b"\x1a")
    seat.expect(b"Stopped")
    seat.type(b"kill %1\r")

    until(lambda: not lives(agent) and not lives(proxy))
    seat.type(b"stty -a | grep -o ' icanon'\r")
    seat.expect(b"\r\n icanon\r\n")


def test_in_the_background_it_waits_for_the_terminal(desk: Desk) -> None:
    """`bg` is not enough: nothing is taken from the shell, and `fg` still works."""
    seat = shell(desk)
    seat.type(" ".join(desk.proxy("cat")).encode() + b"\r")
    desk.pids()
    seat.type(b"x\r")
    seat.expect(b"x\r\nx\r\n")
    seat.type(b"\x1a")
    seat.expect(b"Stopped")
    seat.type(b"bg; wait %1; echo stopped by $(($? - 128))\r")
    seat.expect(b"stopped by %d\r\n" % signal.SIGTTOU)
    seat.type(b"fg\r")
    seat.expect(b"proxy.py")
    seat.type(b"y\r")
    seat.expect(b"y\r\ny\r\n")


def test_a_stop_nobody_could_undo_does_not_happen(desk: Desk) -> None:
    """Without a shell around it Ctrl-Z would leave a dead terminal: the agent goes on."""
    seat = desk.run("cat")
    desk.pids()
    seat.type(b"x\r")
    seat.expect(b"x\r\nx\r\n")
    seat.type(b"\x1a")
    seat.type(b"y\r")
    seat.expect(b"y\r\ny\r\n")
    seat.type(b"\x04")

    assert seat.wait() == 0


def test_a_hangup_of_the_terminal_ends_the_agent(desk: Desk) -> None:
    """By SIGHUP, and if it does not mind that, by SIGKILL."""
    seat = desk.run("bash", "-c", "trap '' HUP; echo ready; while :; do sleep 0.02; done")
    seat.expect(b"ready")
    agent, proxy = desk.pids()
    seat.hang_up()

    until(lambda: not lives(agent) and not lives(proxy))


LINGERING = """
trap : TERM HUP
sh -c 'echo $$ > hook; exec sleep 100' &
set -m
sh -c 'echo $$ > job; exec sleep 100' &
echo $$ > agent
echo ready
while :; do sleep 0.02; done
"""


def test_kill_9_of_the_proxy_leaves_nothing_behind(desk: Desk) -> None:
    """Agent, hooks and jobs are gone within two seconds, also if the agent minds no signal."""
    seat = desk.run("bash", "-c", LINGERING)
    seat.expect(b"ready")
    pids = [desk.noted(name) for name in ("agent", "hook", "job")]
    kill(desk.pids()[1], signal.SIGKILL)

    until(lambda: not any(map(lives, pids)), timeout=2.0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody is left to do it")
def test_kill_9_of_the_leader_takes_the_agent_with_it(desk: Desk) -> None:
    seat = desk.run("bash", "-c", LINGERING)
    seat.expect(b"ready")
    agent = desk.noted("agent")
    leader = int(Path(f"/proc/{agent}/stat").read_text().rpartition(")")[2].split()[1])
    kill(leader, signal.SIGKILL)

    assert seat.wait() == 128 + 9
    assert as_before(seat)
    until(lambda: not lives(agent))


def test_it_is_killed_and_started_again_in_the_same_terminal(desk: Desk) -> None:
    """What the first left switched on is off again; the log goes on."""
    program = "printf '\\033[?1049h\\033[?2004h\\033[?25lready'; read x; echo got $x; exit 4"
    seat = desk.run("bash", "-c", program, options=["--restart"])
    seat.expect(b"ready")
    (desk.folder / "restart").touch()

    between = seat.expect(b"It starts again.\r\n")
    assert between.startswith(b"\x1b[?2004l\x1b[?25h\x1b[?1049l")
    assert not as_before(seat)
    seat.expect(b"ready")
    seat.type(b"word\r")
    assert seat.wait() == 4
    assert seat.seen.startswith(b"word\r\ngot word\r\n")
    assert desk.raw.count(b"ready") == 2
    assert b"It starts again." in desk.raw
    assert as_before(seat)


def test_a_slow_terminal_makes_the_agent_wait_and_nobody_else(desk: Desk) -> None:
    """Nothing is piled up, and the loop has time for everything else."""
    program = "echo ready; head -c 1000000 /dev/zero | tr '\\0' x; echo done"
    seat = desk.run("bash", "-c", program, options=["--beat"])
    seat.expect(b"ready")
    beats = desk.folder / "beats"
    sizes = [-1]
    while sizes[-1:] != [len(desk.raw)]:
        sizes.append(len(desk.raw))
        _let_beat(beats)
    assert sizes[-1] < 200_000
    seat.expect(b"done\r\n", timeout=30.0)

    assert seat.wait() == 0
    assert desk.raw.count(b"x") == 1_000_000


def test_input_from_a_pipe_ends_like_a_pipe(desk: Desk) -> None:
    """What comes is copied, without an echo, also a last line without its end."""
    done = subprocess.run(
        desk.proxy("bash", "-c", "cat; echo end; stty size"), input=b"one\ntwo",
        capture_output=True, timeout=10, cwd=desk.folder, env=_environment(),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout == b"one\r\ntwoend\r\n50 220\r\n"


def test_input_from_a_pipe_waits_for_an_agent_that_reads_keys(desk: Desk) -> None:
    """It drops what is in its terminal as it makes that raw."""
    agent = (
        "import os, termios, time, tty\n"
        "while not os.path.exists('typed'): time.sleep(0.01)\n"
        "tty.setraw(0, termios.TCSAFLUSH)\n"
        "os.write(1, b'ready ')\n"
        "while (key := os.read(0, 1)) != bytes([4]): os.write(1, key)\n"
    )
    with subprocess.Popen(
        desk.proxy(sys.executable, "-c", agent), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        cwd=desk.folder, env=_environment(),
    ) as proxy:  # fmt: skip
        assert proxy.stdin is not None
        proxy.stdin.write(b"hello")
        proxy.stdin.close()
        proxy.stdin = None
        desk.pids()
        (desk.folder / "typed").touch()

        assert proxy.communicate(timeout=10)[0] == b"ready hello"
        assert proxy.returncode == 0


def test_where_nobody_types_an_agent_that_reads_keys_is_left_alone(desk: Desk) -> None:
    """The key that ends input would end it in the middle of its work."""
    agent = (
        "import os, select, tty\n"
        "tty.setraw(0)\n"
        "os.write(1, b'ready ')\n"
        "os.write(1, b'typed' if select.select([0], [], [], 0.5)[0] else b'alone')\n"
    )
    done = subprocess.run(
        desk.proxy(sys.executable, "-c", agent), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        timeout=10, cwd=desk.folder, env=_environment(),
    )  # fmt: skip

    assert done.stdout == b"ready alone"


def test_without_any_input_the_agent_reads_an_end(desk: Desk) -> None:
    """From /dev/null into a file, in the size the environment tells."""
    with (desk.folder / "out").open("wb") as out:
        out.write(b"before\n")
        out.flush()
        done = subprocess.run(
            desk.proxy("bash", "-c", "cat; stty size; exit 5"), stdin=subprocess.DEVNULL,
            stdout=out, timeout=10, cwd=desk.folder, env=_environment(COLUMNS="100", LINES="30"),
        )  # fmt: skip

    assert done.returncode == 5
    assert (desk.folder / "out").read_bytes() == b"before\n30 100\r\n"


def test_a_reader_that_leaves_ends_the_agent(desk: Desk) -> None:
    """`sm run … | head -1` ends like any other program would."""
    line = "{} < /dev/null | head -1".format(" ".join(desk.proxy("yes")))
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, timeout=10, cwd=desk.folder, env=_environment()
    )

    assert done.stdout == b"y\r\n"
    assert not lives(desk.pids()[0])


def test_the_shells_files_stay_blocking(desk: Desk) -> None:
    """Others have them open too: a flag of ours would be theirs."""
    seat = desk.run("bash", "-c", "echo ready; read x")
    seat.expect(b"ready")

    assert os.get_blocking(seat.slave)
    seat.type(b"\r")
    seat.wait()
    assert os.get_blocking(seat.slave)


def test_what_is_typed_reaches_a_program_with_an_alternate_screen(desk: Desk) -> None:
    """An editor: all keys, all of the screen, and the file it writes."""
    seat = desk.run("vi", "-u", "NONE", "-N", "text")
    seat.expect(b"[New]")
    seat.type(b"ihello\x1b")
    seat.type(b":wq\r")

    assert seat.wait() == 0
    assert (desk.folder / "text").read_text() == "hello\n"
    assert as_before(seat)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _let_beat(beats: Path) -> None:
    before = _number(beats)
    until(lambda: _number(beats) > before + 20)


def _number(path: Path) -> int:
    text = path.read_text() if path.exists() else ""
    return int(text or 0)


def _environment(**added: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    return {**kept, "PYTHONPATH": str(Path(__file__).parents[3]), **added}
