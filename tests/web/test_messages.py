"""Messages and reminders over HTTP."""

import asyncio
import secrets
import time
from collections.abc import Sequence

import pytest
from starlette.requests import Request

from sm.api.types import MessageView
from sm.core.ids import SessionId
from sm.web.endpoint import Call
from sm.web.messages import list_
from tests.engine.rig import ADA, FlakyStore, Rig, new
from tests.engine.timelapse import TimelapseLoop
from tests.kit.tmux import wait_until
from tests.web.conftest import Web

NO_REQUEST = Request({"type": "http"})


def _done(web: Web, message: str) -> dict[str, object]:
    wait_until(lambda: web.get(f"/messages/{message}")["state"] == "done")
    found: dict[str, object] = web.get(f"/messages/{message}")
    return found


def test_a_message_is_stored_then_proved(web: Web) -> None:
    """From queued to done, with the agent's own evidence on the way."""
    web.call("GET", "/sessions/ada/wait?until=idle")
    sent = web.call("POST", "/sessions/ada/messages", {"text": "ping"})
    assert sent.status == 201
    assert (sent.json["to"], sent.json["to_name"], sent.json["from"]) == (web.ada, "ada", "you")

    receipts = _done(web, sent.json["id"])["receipts"]

    assert isinstance(receipts, list)
    # The agent may report the prompt before we have noted that Enter was pressed.
    steps = {r["step"]: r["evidence"] for r in receipts if r["step"] != "entered"}
    assert list(steps) == ["queued", "offered", "accepted", "done"]
    assert steps["accepted"].startswith("UserPromptSubmit of prompt ")


def test_a_message_sent_twice_arrives_once(web: Web) -> None:
    """The caller's id makes the second call the same one."""
    body = {"id": secrets.token_hex(6), "text": "exactly once"}

    first, second = (web.call("POST", "/sessions/ada/messages", body) for _ in range(2))
    _done(web, body["id"])
    third = web.call("POST", "/sessions/ada/messages", body)

    assert {first.status, second.status, third.status} == {201}
    assert sum("exactly once" in prompt for prompt in web.sm.received("ada")) == 1


def test_a_wait_returns_when_the_message_was_accepted(web: Web) -> None:
    """One call, no polling."""
    sent = web.call("POST", "/sessions/ada/messages", {"text": "wait for me"}).json

    waited = web.get(f"/messages/{sent['id']}?wait=20")

    assert waited["state"] in ("accepted", "done")


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ({"text": ""}, 409, "The text is empty."),
        ({"text": " \n\x1b"}, 409, "The text is empty."),
        ({"text": "x" * 1_000_001}, 409, "The text has 1000001 characters; the limit is 1000000."),
        ({"id": "xyz"}, 400, "A message id is 12 hex digits."),
        ({"mode": "loud"}, 400, "The body does not fit: Invalid enum value 'loud'"),
        (
            {"expires_in": 0},
            400,
            "expires_in must be a positive number of seconds and below 315360000",
        ),
        (
            {"expires_in": -1},
            400,
            "expires_in must be a positive number of seconds and below 315360000",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused_in_words(
    web: Web, more: dict[str, object], status: int, words: str
) -> None:
    """And is not stored."""
    before = len(web.get("/messages?limit=10000"))

    answer = web.call("POST", "/sessions/ada/messages", {"text": "hi", **more})

    assert (answer.status, answer.error[: len(words)]) == (status, words)
    assert len(web.get("/messages?limit=10000")) == before


def test_nothing_can_be_sent_to_an_ended_session(web: Web) -> None:
    """With what to do."""
    answer = web.call("POST", f"/sessions/{web.gone}/messages", {"text": "hi"})

    assert (answer.status, answer.error) == (
        409, "gone has ended. Start a new session with: sm new",
    )  # fmt: skip


def test_messages_are_listed_by_session_state_and_number(web: Web) -> None:
    """Oldest first; the newest N."""
    everything = web.get("/messages?session=ada")

    assert everything[0]["id"] == web.hello
    assert [m["id"] for m in web.get("/messages?session=ada&limit=1")] == [everything[-1]["id"]]
    assert web.get(f"/messages?session={web.gone}") == []
    assert {m["state"] for m in web.get("/messages?state=done")} == {"done"}


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("state=lost", 400, "'lost' is no message state. There are: queued, "),
        ("session=nobody", 404, "There is no session 'nobody'."),
    ],
)
def test_a_list_of_nothing_that_exists_is_refused(
    web: Web, query: str, status: int, words: str
) -> None:
    """A misspelt state is not an empty list."""
    answer = web.call("GET", f"/messages?{query}")

    assert (answer.status, answer.error[: len(words)]) == (status, words)


def test_a_message_that_was_given_cannot_be_withdrawn(web: Web) -> None:
    """Nor one that never was."""
    given = web.call("DELETE", f"/messages/{web.hello}")
    unknown = web.call("DELETE", "/messages/ffffffffffff")

    assert (given.status, given.error) == (
        409, f"Message {web.hello} is done: it can no longer be withdrawn.",
    )  # fmt: skip
    assert (unknown.status, unknown.error) == (
        404, "There is no message 'ffffffffffff'. See: sm messages",
    )  # fmt: skip


def test_a_reminder_is_listed_until_it_is_cancelled(web: Web) -> None:
    """Set, seen, gone."""
    made = web.call("POST", "/sessions/ada/reminders", {"text": "look", "due_in": 3600.0})
    assert made.status == 201
    assert made.json == {
        "id": made.json["id"], "session": "ada", "text": "look", "every": None,
        "due": pytest.approx(time.time() + 3600, abs=30),
    }  # fmt: skip
    assert made.json in web.get("/reminders")
    assert made.json in web.get("/sessions/ada")["reminders"]

    gone = web.call("DELETE", f"/reminders/{made.json['id']}")

    assert (gone.status, gone.content) == (204, b"")
    assert made.json not in web.get("/reminders")
    assert web.call("DELETE", f"/reminders/{made.json['id']}").status == 404


def test_a_reminder_set_twice_is_one_reminder(web: Web) -> None:
    """A call cut off by the daemon's death is sent again."""
    body = {"id": secrets.token_hex(4), "text": "once", "due_in": 3600.0}

    first, second = (web.call("POST", "/sessions/ada/reminders", body).json for _ in range(2))
    listed = [r for r in web.get("/reminders") if r["text"] == "once"]
    web.call("DELETE", f"/reminders/{body['id']}")

    assert first == second
    assert listed == [first]


@pytest.mark.parametrize(
    "more",
    [{"due_in": -1.0}, {"due_in": 1e12}, {"every": 0.5}, {"every": 1e12}, {"id": "x"}],
)
def test_a_reminder_without_meaning_is_refused(web: Web, more: dict[str, object]) -> None:
    """Not in the past, not every instant."""
    answer = web.call("POST", "/sessions/ada/reminders", {"text": "x", "due_in": 60.0, **more})

    assert answer.status == 400


@pytest.mark.parametrize("key", ["due_in", "every"])
def test_a_reminder_too_far_away_is_told_how_far_it_may_be(web: Web, key: str) -> None:
    body = {"text": "x", "due_in": 60.0, key: 1e18}
    answer = web.call("POST", "/sessions/ada/reminders", body)

    assert answer.error.endswith(" and below 315360000 (ten years).")


def test_a_reminder_becomes_a_message_when_it_is_due(web: Web) -> None:
    """Told by you, to the session, once."""
    text = f"remember {secrets.token_hex(4)}"
    web.call("POST", "/sessions/ada/reminders", {"text": text, "due_in": 0.0})

    wait_until(lambda: any(text in prompt for prompt in web.sm.received("ada")))
    assert [r for r in web.get("/reminders") if r["text"] == text] == []


class Forgetful(FlakyStore):
    """Takes its time to let go of sessions."""

    async def forget(self, sessions: Sequence[SessionId]) -> None:
        await self.open.wait()
        await super().forget(sessions)


async def _listed_while_forgotten() -> list[MessageView]:
    store = Forgetful()
    async with Rig(store=store).running() as engine:
        await engine.sessions.new(new(prompt="port the lexer"))
        await engine.sessions.kill("ada", by="you")
        await asyncio.sleep(1)
        store.open.clear()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(engine.loop.forget([ADA]))
            await asyncio.sleep(1)
            everything = {"session": "", "state": "", "limit": 200}
            call = Call(engine=engine, request=NO_REQUEST, body=None, query=everything)
            listed = await list_(call)
            store.open.set()
    return listed


def test_messages_are_listed_while_their_session_is_let_go() -> None:
    """The engine forgets first, then the store: in between only one of them knows it."""
    with asyncio.Runner(loop_factory=TimelapseLoop) as runner:
        [message] = runner.run(_listed_while_forgotten())

    assert (message["to_name"], message["text"]) == ("ada", "port the lexer")
