"""Handoffs: asked for by a session itself, looked at and withdrawn by anybody."""

import time

from sm.api.ids import HANDOFF_FORM, is_handoff_id, new_handoff_id
from sm.api.types import HandoffView, NewHandoffBody
from sm.core.ids import HandoffId
from sm.core.passage import STANDARD_INPUT
from sm.engine.handovers import Document
from sm.web.endpoint import BadRequestError, Call, Endpoint, Query, Whole
from sm.web.views import handoff_view


async def request(call: Call) -> HandoffView:
    body: NewHandoffBody = call.body
    scheme, _, token = call.request.headers.get("authorization", "").partition(" ")
    handoff = await call.engine.handovers.request(
        call.path("session"),
        requester=body["requester_session_id"],
        document=_document(body),
        token=token if scheme.lower() == "bearer" else "",
        handoff_id=HandoffId(_chosen(body.get("id"))),
    )
    return handoff_view(call.engine, handoff)


def _chosen(given: str | None) -> str:
    if given is None:
        return new_handoff_id(time.time())
    if not is_handoff_id(given):
        raise BadRequestError(f"A handoff id has the form {HANDOFF_FORM}.")
    return given


def _document(body: NewHandoffBody) -> Document:
    path, text = body.get("file_path"), body.get("text")
    if (path is None) == (text is None):
        raise BadRequestError("Give file_path, or the document's text.")
    return Document(source=STANDARD_INPUT if path is None else path, text=text)


async def list_(call: Call) -> list[HandoffView]:
    of = call.query["session"]
    session = call.engine.find(of).id if of else None
    limit = min(max(call.query["limit"], 1), 10_000)
    found = await call.engine.handovers.all(session=session, limit=limit)
    return [handoff_view(call.engine, handoff) for handoff in found]


async def show(call: Call) -> HandoffView:
    return handoff_view(call.engine, await call.engine.handovers.find(call.path("handoff")))


async def cancel(call: Call) -> HandoffView:
    handoff = await call.engine.handovers.cancel(call.path("handoff"), by="a person")
    return handoff_view(call.engine, handoff)


ENDPOINTS = (
    Endpoint(
        method="POST", path="/sessions/{session}/handoff",
        about="Hand over to a fresh context after this turn; needs the session's own token",
        handler=request, body=NewHandoffBody, gives=HandoffView, status=201,
        refusals=(403, 404, 409),
    ),
    Endpoint(
        method="GET", path="/handoffs", about="List handoffs, oldest first", handler=list_,
        gives=list[HandoffView], refusals=(404,),
        query=(
            Query(name="session", type=str, default="", about="Only of this session"),
            Query(name="limit", type=Whole, default=200, about="The newest N"),
        ),
    ),
    Endpoint(
        method="GET", path="/handoffs/{handoff}", about="One handoff with its steps",
        handler=show, gives=HandoffView, refusals=(404,),
    ),
    Endpoint(
        method="DELETE", path="/handoffs/{handoff}",
        about="Withdraw one whose context is not being cleared yet",
        handler=cancel, gives=HandoffView, refusals=(404, 409),
    ),
)  # fmt: skip
