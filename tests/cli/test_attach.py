"""sm attach, in a terminal of its own."""

from tests.cli.conftest import refusal
from tests.kit.sm import SM, Sm
from tests.kit.tmux import private_tmux, wait_until


def test_attaching_shows_the_sessions_terminal(sm: Sm) -> None:
    """Type, look, leave; from inside another tmux too."""
    with private_tmux() as outside:
        command = f"{SM} attach ada; echo it ended with $?; sleep 60"
        pane = outside.start(["sh", "-c", command], environment=sm.environment, cwd=sm.work)

        wait_until(lambda: "[ada]" in outside.screen(pane), seen=lambda: outside.screen(pane))
        assert "? for shortcuts" in outside.screen(pane)
        wait_until(lambda: sm.tmux("list-clients", "-t", "=ada").count("\n") == 1)
        outside.press(pane, "C-b")
        outside.press(pane, "d")
        # By the shell's word: tmux itself now and then knows that it ended, not how.
        wait_until(
            lambda: "it ended with 0" in outside.screen(pane), seen=lambda: outside.screen(pane)
        )

    assert sm.state("ada") == "idle"


def test_new_with_attach_shows_it_at_once(sm: Sm) -> None:
    """Start and look in one."""
    with private_tmux() as outside:
        argv = [str(SM), "new", "seen", "--attach"]
        pane = outside.start(argv, environment=sm.environment, cwd=sm.work)

        wait_until(lambda: "Demo agent" in outside.screen(pane), seen=lambda: outside.screen(pane))
    sm.run("kill", "seen")


def test_an_ended_session_cannot_be_attached(sm: Sm) -> None:
    """Its past can be read."""
    assert refusal(sm, "attach", "gone") == (
        1, "gone has no terminal any more. Its past: sm log gone",
    )  # fmt: skip


def test_without_tmux_the_words_say_what_to_do(sm: Sm) -> None:
    """As far as the command itself needs it."""
    empty = sm.folder / "empty"
    empty.mkdir(exist_ok=True)
    done = sm.start("attach", "ada", environment={"PATH": str(empty)})

    assert done.returncode == 1
    assert done.stderr == "sm: tmux is not installed. On Debian or Ubuntu: apt install tmux\n"


def test_without_a_terminal_there_is_nothing_to_attach_to(sm: Sm) -> None:
    """And nothing is started to be looked at."""
    assert refusal(sm, "attach", "ada") == (
        1, "This is no terminal to show a session in. See: sm tail ada",
    )  # fmt: skip
    assert refusal(sm, "new", "unseen", "--attach") == (
        1, "This is no terminal to show a session in. Leave --attach away; nothing was started.",
    )  # fmt: skip
    assert "unseen" not in sm.run("ls", "--all")
