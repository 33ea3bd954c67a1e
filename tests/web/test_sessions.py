"""Sessions over HTTP, with real agents behind them."""

import secrets
import socket
from dataclasses import replace

import pytest

from sm.core.crash import Cause, Crash, Recovery
from sm.core.ids import RecoveryId
from sm.core.recovery import TIMER
from sm.core.state import Exit, State
from sm.web.sessions import goal
from tests.core.samples import IDLE, NOON
from tests.kit.tmux import wait_until
from tests.web.conftest import NOBODY, Web


def _body(web: Web, **more: object) -> dict[str, object]:
    environment = web.sm.environment
    return {"agent": "demo", "cwd": str(web.sm.work), "environment": environment, **more}


def test_a_session_is_started_shown_and_ended(web: Web) -> None:
    """From the first call to the last, by its id."""
    made = web.call("POST", "/sessions", _body(web, name="bob", parent="ada"))
    assert made.status == 201
    session = made.json
    try:
        assert (session["name"], session["agent"], session["parent"]) == ("bob", "demo", web.ada)
        assert session["tmux"]["session"] == "bob"
        assert session["id"] in web.get(f"/sessions/{web.ada}")["children"]
    finally:
        ended = web.call("DELETE", "/sessions/bob")

    assert (ended.status, ended.json["state"]) == (200, "ended")
    assert ended.json["exit"]["intended"] is True
    assert session["id"] not in [s["id"] for s in web.get("/sessions")]
    assert session["id"] in [s["id"] for s in web.get("/sessions?all=true")]


def test_an_agents_command_line_is_shown_without_its_secrets(web: Web) -> None:
    """In the list, in what is known of it, and in its past."""
    secret = "hG7-kQ2.xV9w"
    agent = f"sh -c 'sleep 100' --password {secret}"
    body = _body(web, name="keen", agent=agent, arguments=["--password", secret])
    made = web.call("POST", "/sessions", body)
    try:
        places = ("/sessions", "/sessions/keen", "/sessions/keen/timeline")
        answers = [made, *(web.call("GET", path) for path in places)]
    finally:
        web.call("DELETE", "/sessions/keen")

    assert [answer.status for answer in answers] == [201, 200, 200, 200]
    assert [answer.content.count(secret.encode()) for answer in answers] == [0] * 4


def test_a_start_sent_twice_starts_one_session(web: Web) -> None:
    """A caller that was cut off sends the same call again."""
    body = _body(web, id=secrets.token_hex(4), name="twice")

    first, second = (web.call("POST", "/sessions", body) for _ in range(2))
    web.call("DELETE", "/sessions/twice")

    assert (first.status, second.status) == (201, 201)
    assert first.json["pid"] == second.json["pid"] is not None


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"agent": "no-such-program"}, 409, "no-such-program is not a program on your PATH."),
        ({"agent": "'"}, 409, "cannot read the command line"),
        ({"agent": ""}, 409, "the agent's command line is empty."),
        ({"cwd": "work"}, 400, "The working directory 'work' does not exist."),
        ({"cwd": "/nowhere"}, 400, "The working directory '/nowhere' does not exist."),
        ({"cwd": "/" + "x" * 5000}, 400, "The working directory '/xxx"),
        ({"cwd": "/\0"}, 400, "The working directory '/\\x00' does not exist."),
        ({"arguments": ["a\0b"]}, 400, "Arguments cannot hold NUL characters."),
        ({"agent": "a\0b"}, 400, "Arguments cannot hold NUL characters."),
        ({"environment": {"A": "b\0c"}}, 400, "The variable 'A' holds a NUL character."),
        ({"environment": {"A\0": "b"}}, 400, "The variable 'A\\x00' holds a NUL character."),
        ({"environment": {"A=B": "c"}}, 400, "'A=B' cannot be the name of a variable."),
        ({"name": "a\0b"}, 400, "'a\\x00b' is not a usable name"),
        ({"name": "a b"}, 400, "'a b' is not a usable name"),
        ({"name": "ada"}, 400, "ada is taken."),
        ({"name": "0a1b2c3d"}, 400, "'0a1b2c3d' looks like a session id."),
        ({"id": "xyz"}, 400, "A session id is 8 hex digits."),
        ({"parent": "nobody"}, 404, "There is no session 'nobody'."),
    ],
)
def test_what_cannot_be_started_is_refused_in_words(
    web: Web, more: dict[str, object], status: int, words: str
) -> None:
    """And nothing of it is left: no session, no folder."""
    before = set(web.sm.home.sessions.iterdir())

    answer = web.call("POST", "/sessions", _body(web, **more))

    assert (answer.status, answer.error[: len(words)]) == (status, words)
    assert set(web.sm.home.sessions.iterdir()) == before


def test_a_session_is_found_by_id_prefix_and_name(web: Web) -> None:
    """As people type it."""
    for reference in ("ada", web.ada, web.ada[:6]):
        assert web.get(f"/sessions/{reference}")["id"] == web.ada


@pytest.mark.parametrize("path", ["", "/explain", "/timeline", "/screen", "/log", "/wait"])
def test_a_session_that_is_not_there_is_told_with_what_to_do(web: Web, path: str) -> None:
    """The same words everywhere."""
    answer = web.call("GET", f"/sessions/{NOBODY}{path}")

    assert (answer.status, answer.error) == (
        404, f"There is no session '{NOBODY}'. See: sm ls --all",
    )  # fmt: skip


def test_a_renamed_session_keeps_its_id(web: Web) -> None:
    """The old name is free again."""
    assert web.call("PATCH", "/sessions/ada", {"name": "grace"}).json["id"] == web.ada

    assert web.call("GET", "/sessions/ada").status == 404
    assert web.call("PATCH", "/sessions/grace", {"name": "ada"}).json["name"] == "ada"


def test_waiting_ends_at_once_when_there_is_nothing_to_wait_for(web: Web) -> None:
    """An idle session is idle."""
    wait_until(lambda: web.get("/sessions/ada")["state"] == "idle")

    assert web.get("/sessions/ada/wait?until=idle&timeout=10")["state"] == "idle"
    assert web.get(f"/sessions/{web.gone}/wait?until=ended&timeout=10")["state"] == "ended"


def test_waiting_gives_up_with_the_state_it_found(web: Web) -> None:
    """After the given time, not later."""
    answer = web.call("GET", "/sessions/ada/wait?until=ended&timeout=0.01")

    assert answer.status == 409
    assert answer.error.endswith("after 0.01 s.")


@pytest.mark.parametrize("query", ["until=busy", "timeout=nan", "timeout=-1", "timeout=soon"])
def test_a_wait_without_meaning_is_refused(web: Web, query: str) -> None:
    """Not a wait for ever."""
    assert web.call("GET", f"/sessions/ada/wait?{query}").status == 400


CRASHED = replace(
    IDLE, state=State.CRASHED, exit=Exit(status=9, signal=None, intended=False), pane=None
)
BROUGHT_BACK = Recovery(
    id=RecoveryId("r1"), by="sm", asked_at=NOON,
    crash=Crash(at=NOON, cause=Cause.UNKNOWN, words="it crashed"),
)  # fmt: skip


@pytest.mark.parametrize("wanted", ["idle", "ended"])
def test_a_wait_goes_on_while_a_crashed_agent_is_about_to_come_back(wanted: str) -> None:
    """Only a crash that stays is the end of it."""
    is_there = goal(wanted, IDLE)

    assert not is_there(CRASHED.with_timer(TIMER, NOON + 5))
    assert not is_there(CRASHED.with_recovery(BROUGHT_BACK))
    assert is_there(CRASHED)


def test_an_agent_that_reports_nothing_cannot_be_waited_for_idle(web: Web) -> None:
    """It is said so, with what can be waited for."""
    web.call("POST", "/sessions", _body(web, agent="sleep 60", name="mute"))
    try:
        answer = web.call("GET", "/sessions/mute/wait?until=idle")
    finally:
        web.call("DELETE", "/sessions/mute")

    assert answer.status == 409
    assert answer.error == (
        "mute runs an agent that does not report when it is idle. "
        "Wait for its end with: sm wait mute --for ended"
    )


def test_the_timeline_goes_on_after_a_seq(web: Web) -> None:
    """Page by page, oldest first, nothing twice."""
    everything = web.get("/sessions/ada/timeline?limit=4")
    rest = web.get(f"/sessions/ada/timeline?after={everything[1]['seq']}&limit=2")

    assert [e["kind"] for e in everything[:3]] == [
        "SessionRequested", "AgentStarted", "ContextStarted",
    ]  # fmt: skip
    assert rest == everything[2:4]
    assert web.get("/sessions/ada/timeline?after=-5&limit=-5") == everything[:1]


def test_the_screen_is_what_the_terminal_shows_now(web: Web) -> None:
    """Lines, size and title."""
    screen = web.get("/sessions/ada/screen")

    assert any("Demo agent" in line for line in screen["lines"])
    assert len(screen["lines"]) == screen["height"]
    assert web.ada in screen["title"]


def test_an_ended_session_has_no_screen_and_keeps_its_log(web: Web) -> None:
    """The refusal says where to look."""
    answer = web.call("GET", f"/sessions/{web.gone}/screen")

    assert (answer.status, answer.error) == (409, "gone's terminal is gone. See: sm log gone")
    log = web.get(f"/sessions/{web.gone}/log")
    assert any("Demo agent" in line for line in log["lines"])
    assert log["bytes"] > 100


def test_the_log_can_be_cut_to_its_end(web: Web) -> None:
    """The last lines only."""
    whole = web.get(f"/sessions/{web.gone}/log")["lines"]

    assert web.get(f"/sessions/{web.gone}/log?lines=2")["lines"] == whole[-2:]
    assert web.get(f"/sessions/{web.gone}/log?lines=-2")["lines"] == whole


def test_ending_what_has_ended_is_no_error(web: Web) -> None:
    """A call cut off by the daemon's death is sent again: what was asked for is so."""
    before = web.get(f"/sessions/{web.gone}")

    answer = web.call("DELETE", f"/sessions/{web.gone}")

    assert (answer.status, answer.json) == (200, before)


def test_the_host_is_told(web: Web) -> None:
    """One home folder may serve several."""
    assert web.get("/sessions/ada")["host"] == socket.gethostname().split(".")[0]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"pane": "%999"}, 409, "There is no pane '%999' on sm's own tmux server"),
        ({"pane": "ada:"}, 409, "is already session ada."),
        ({"pane": "ada:", "agent": "vi"}, 409, "sm does not recognise a running 'vi'."),
        ({"pane": ""}, 400, "Name a pane, such as %5 or work:1.0."),
        ({"pane": "%1", "socket": "here"}, 400, "The tmux socket 'here' is no absolute path."),
        ({"pane": "%1", "id": "x"}, 400, "A session id is 8 hex digits."),
    ],
)
def test_what_cannot_be_adopted_is_refused(
    web: Web, body: dict[str, str], status: int, words: str
) -> None:
    """With the reason."""
    answer = web.call("POST", "/sessions/adopt", body)

    assert answer.status == status
    assert words in answer.error


def test_only_an_adopted_session_can_be_let_go(web: Web) -> None:
    """An agent that sm started would be nobody's."""
    answer = web.call("POST", f"/sessions/{web.ada}/release")

    assert (answer.status, answer.error) == (
        409, "ada was started by sm and cannot be let go. End it with: sm kill ada",
    )  # fmt: skip
    assert web.get(f"/sessions/{web.ada}")["adopted"] is False
