"""Handoffs over HTTP: asked for by a session itself, looked at and withdrawn by anybody."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sm.api.errors import RefusedError
from sm.api.types import HandoffView
from tests.kit.tmux import wait_until
from tests.web.conftest import NOBODY, Answer, Web

SELF_ONLY = "sm handoff is self-directed only"


class Session:
    """A session that asks over TCP, with its own token."""

    def __init__(self, web: Web, name: str, session: str) -> None:
        self.web, self.name, self.id = web, name, session
        self.document = web.sm.folder / f"{name}.md"
        self.document.write_text("# Goal\nthe shop\n")

    @property
    def own(self) -> dict[str, str]:
        token = (self.web.sm.home.sessions / self.id / "token").read_text().strip()
        return {"Authorization": f"Bearer {token}"}

    def ask(self, *, headers: dict[str, str] | None = None, **changes: Any) -> Answer:
        body = {"requester_session_id": self.id, "file_path": str(self.document), **changes}
        path = f"/sessions/{self.id}/handoff"
        return self.web.call("POST", path, body, headers=self.own if headers is None else headers)


@pytest.fixture(scope="module")
def bob(web: Web) -> Iterator[Session]:
    """In a turn, at a dialog: a handoff of his waits."""
    session = web.sm.new_demo("bob")
    web.sm.run("send", "bob", "%ask touch x", "--wait", "20", "--no-notify")
    web.sm.wait_state("bob", "waiting")
    yield Session(web, "bob", session)
    web.sm.run("kill", "bob")


# --- asked for -----------------------------------------------------------------------------


def test_a_handoff_is_scheduled_and_told_in_full(web: Web, bob: Session) -> None:
    """With a copy of the document that outlives the original."""
    asked = bob.ask()
    assert asked.status == 201

    handoff = asked.json
    assert list(handoff) == list(HandoffView.__annotations__)
    assert (handoff["state"], handoff["kind"], handoff["context"]) == ("requested", "self", 1)
    assert (handoff["session"], handoff["session_name"]) == (bob.id, "bob")
    assert handoff["source"] == str(bob.document)
    assert Path(handoff["document"]).read_text() == bob.document.read_text()
    assert (handoff["dump"], handoff["artifacts"]) == (None, None)
    assert handoff["waiting"] == "a dialog is open: a person must answer it first"
    assert [step["step"] for step in handoff["steps"]] == ["requested"]
    assert web.get(f"/handoffs/{handoff['id']}") == handoff


def test_the_same_id_again_is_the_same_handoff(bob: Session) -> None:
    chosen = secrets.token_hex(6)

    first, second = bob.ask(id=chosen), bob.ask(id=chosen)

    assert (first.status, second.status) == (201, 201)
    assert first.json == second.json
    assert first.json["id"] == chosen


def test_the_last_of_several_holds(web: Web, bob: Session) -> None:
    first, second = bob.ask().json["id"], bob.ask().json["id"]

    listed = {h["id"]: h["state"] for h in web.get("/handoffs?session=bob")}
    assert (listed[first], listed[second]) == ("superseded", "requested")


@pytest.mark.parametrize("who", ["ada", "admin", "nobody", "anonymous"])
def test_only_the_session_itself_may_ask(web: Web, bob: Session, who: str) -> None:
    """Not even who may do everything else: the token proves that it is the agent's own wish."""
    tokens = {
        "ada": Session(web, "ada", web.ada).own,
        "admin": web.authorisation,
        "nobody": {"Authorization": "Bearer x"},
    }
    path = f"/sessions/{bob.id}/handoff"
    body = {"requester_session_id": bob.id, "file_path": str(bob.document)}

    answer = web.call("POST", path, body, headers=tokens.get(who), anonymous=True)

    if who == "admin":
        assert answer.status == 403
        assert answer.error.startswith(SELF_ONLY)
        assert "SM_SESSION_TOKEN" in answer.error
    else:
        assert answer.status == 401, "the guard lets nobody in who holds no token for this"


def test_without_a_token_the_socket_does_not_help(web: Web, bob: Session) -> None:
    """It lets everybody of this user in, and still only the session itself may ask."""
    body = {"requester_session_id": bob.id, "file_path": str(bob.document)}
    ada = Session(web, "ada", web.ada).own["Authorization"].split()[1]

    for token in ("", ada, web.token):
        status, error = _over_socket(web, f"/sessions/{bob.id}/handoff", body, token)
        assert (status, error.startswith(SELF_ONLY)) == (403, True)


def _over_socket(web: Web, path: str, body: dict[str, str], token: str) -> tuple[int, str]:
    with pytest.raises(RefusedError) as refused:
        web.sm.client().call("POST", path, body, token=token)
    return refused.value.status, str(refused.value)


@pytest.mark.parametrize("requester", ["ada", NOBODY, ""])
def test_a_requester_other_than_the_session_is_refused(bob: Session, requester: str) -> None:
    answer = bob.ask(requester_session_id=requester)

    assert answer.status == 403
    assert answer.error == (
        "sm handoff is self-directed only: the requester must be the session itself."
    )


def test_a_session_nobody_knows_is_not_found(web: Web, bob: Session) -> None:
    body = {"requester_session_id": NOBODY, "file_path": str(bob.document)}

    assert web.call("POST", f"/sessions/{NOBODY}/handoff", body).status == 404


def test_an_agent_that_cannot_be_cleared_is_refused(web: Web) -> None:
    """cat reports nothing: nobody could prove that its context is new."""
    session = web.sm.new("cat", agent="cat")
    answer = Session(web, "cat", session).ask()
    web.sm.run("kill", "cat")

    assert answer.status == 409
    assert "reports nothing about its context" in answer.error
    assert "sm new --prompt" in answer.error


def test_a_session_that_has_ended_is_refused(web: Web) -> None:
    answer = Session(web, "gone", web.gone).ask()

    assert (answer.status, answer.error) == (
        409,
        "gone has no running agent: nothing can be handed over.",
    )


def test_a_document_that_cannot_be_taken_is_refused(bob: Session) -> None:
    for path, words in (
        ("handoff.md", "is not an absolute path"),
        ("/nowhere/handoff.md", "/nowhere/handoff.md"),
        ("/tmp", "/tmp"),
    ):
        answer = bob.ask(file_path=path)
        assert answer.status == 409
        assert words in answer.error


@pytest.mark.parametrize(
    "body",
    [{}, {"requester_session_id": "x"}, {"file_path": "/x"}, {"id": "no hex"}],
    ids=["empty", "no file", "no requester", "a bad id"],
)
def test_a_body_that_does_not_fit_is_refused(web: Web, bob: Session, body: dict[str, str]) -> None:
    whole = {"requester_session_id": bob.id, "file_path": str(bob.document)}
    sent = {**whole, **body} if "id" in body else body

    answer = web.call("POST", f"/sessions/{bob.id}/handoff", sent, headers=bob.own)

    assert answer.status == 400


# --- withdrawn -----------------------------------------------------------------------------


def test_a_handoff_is_withdrawn(web: Web, bob: Session) -> None:
    """Again is no error; one that was superseded cannot be."""
    superseded, waiting = bob.ask().json["id"], bob.ask().json["id"]

    answers = [web.call("DELETE", f"/handoffs/{waiting}") for _ in range(2)]
    assert [(a.status, a.json["state"]) for a in answers] == [(200, "cancelled")] * 2
    refused = web.call("DELETE", f"/handoffs/{superseded}")
    assert (refused.status, refused.error) == (
        409,
        f"Handoff {superseded} can no longer be withdrawn: it is superseded.",
    )


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_handoff_nobody_asked_for_is_not_found(web: Web, method: str) -> None:
    answer = web.call(method, "/handoffs/ffffffffffff")

    assert (answer.status, answer.error) == (
        404,
        "There is no handoff 'ffffffffffff'. See: sm handoffs",
    )


def test_the_list_can_be_cut_short_and_is_of_one_session(web: Web, bob: Session) -> None:
    bob.ask()

    assert len(web.get("/handoffs?limit=1")) == 1
    assert {h["session"] for h in web.get("/handoffs?session=bob")} == {bob.id}
    assert web.get("/handoffs?session=gone") == []
    assert web.call("GET", "/handoffs?session=nope").status == 404


# --- carried out ---------------------------------------------------------------------------


def test_a_handoff_is_carried_out_and_proved(web: Web) -> None:
    """By the demo agent itself: its next context, and its first prompt there."""
    eve = Session(web, "eve", web.sm.new_demo("eve"))
    asked = eve.ask().json

    wait_until(lambda: web.get(f"/handoffs/{asked['id']}")["state"] == "done")

    handoff = web.get(f"/handoffs/{asked['id']}")
    steps = [step["step"] for step in handoff["steps"]]
    assert steps[:3] == ["requested", "ended", "captured"]
    assert steps[-3:] == ["prompted", "accepted", "done"]
    assert (handoff["consumed_by"], handoff["waiting"]) == (eve.id, None)
    assert handoff["consumed_at"] == handoff["steps"][-2]["at"]
    assert Path(handoff["dump"]).exists()
    assert Path(handoff["artifacts"]).exists()
    assert web.sm.received("eve")[-1].startswith(f"Read {handoff['document']} and continue")
    shown = web.get("/sessions/eve")
    (past,) = shown["lineage"]
    assert (past["number"], past["how"], past["id"] == shown["context"]["id"]) == (
        1,
        f"handoff {asked['id']}",
        False,
    )
    web.sm.run("kill", "eve")
    assert (shown["context"]["number"], shown["last_handoff"]) == (2, asked["id"])
