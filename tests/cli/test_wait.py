"""sm wait"""

from tests.cli.conftest import refusal
from tests.kit.sm import Sm, sm_home

NO_ROUTE = "no route that is switched on can carry it (delivery.routes)"


def test_waiting_for_idle_returns_when_nothing_is_left_to_do(sm: Sm) -> None:
    """The turn is over and nothing is queued."""
    sm.run("send", "ada", "%work 0.2")

    assert sm.run("wait", "ada", "--timeout", "30s") == "ada is idle.\n"
    assert sm.json("wait", "ada")["state"] == "idle"


def test_waiting_for_the_end_returns_when_the_agent_is_gone(sm: Sm) -> None:
    """However it ended."""
    sm.run("new", "brief", "--agent", "sleep 0.1")

    assert sm.run("wait", "brief", "--for", "ended", "--timeout", "30") == "brief is ended.\n"


def test_a_wait_that_was_not_long_enough_is_refused(sm: Sm) -> None:
    """With the state it found."""
    assert refusal(sm, "wait", "bob", "--timeout", "0") == (1, "bob is still waiting after 0 s.")


def test_a_wait_for_a_message_that_an_idle_agent_does_not_take_names_it(sm: Sm) -> None:
    """No route that is switched on can carry it: she is idle, and not all is done."""
    with sm_home() as own:
        own.base.mkdir(parents=True, exist_ok=True)
        own.home.config.write_text('[delivery]\nroutes = { demo = ["stop_reply"] }\n')
        own.new_demo("ada")
        message = own.run("send", "ada", "one").strip()

        code, words = refusal(own, "wait", "ada", "--timeout", "0.1")

    assert (code, words) == (
        1, f"ada is idle, but after 0.1 s message {message} is still queued: {NO_ROUTE}.",
    )  # fmt: skip


def test_waiting_for_idle_ends_when_it_can_never_come(sm: Sm) -> None:
    """The session is over: exit 1, at once."""
    sm.run("new", "dying", "--", "--delay", "0")
    sm.run("send", "dying", "%crash")
    done = sm.start("wait", "dying", "--timeout", "20")
    sm.run("kill", "dying")

    assert (done.returncode, done.stdout) == (1, "dying is crashed.\n")


def test_a_time_that_is_none_is_wrong_usage(sm: Sm) -> None:
    """Exit 2 with the form it should have."""
    done = sm.start("wait", "ada", "--timeout", "soon")

    assert done.returncode == 2
    assert done.stderr.endswith("'soon' is no time; write 30s, 10m, 1h or 2d\n")
