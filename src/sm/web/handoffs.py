"""Handoffs: asked for by a session itself, looked at and withdrawn by anybody."""

import time

from sm.api.ids import HANDOFF_FORM, is_handoff_id, new_handoff_id
from sm.api.types import ClearedView, HandoffView, LoadBody, LoadedView, NewHandoffBody
from sm.core.ids import HandoffId, MessageId
from sm.core.message import MessageState, Mode
from sm.core.passage import STANDARD_INPUT
from sm.engine.filing import LOOKED_AT, Given, sent_as
from sm.engine.handovers import Document
from sm.engine.mail import NewMessage
from sm.engine.naming import NotFoundError, RefusedError
from sm.web.endpoint import BadRequestError, Call, Endpoint, Query, Whole
from sm.web.forwarding import MARK_NAME
from sm.web.views import filed_view, handoff_view


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
    found = await call.engine.handovers.all(session=session, limit=LOOKED_AT)
    filed = await call.engine.filing.all(LOOKED_AT)
    views = [handoff_view(call.engine, handoff, filed.pop(handoff.id, None)) for handoff in found]
    if session is None and MARK_NAME not in call.request.headers:
        # Those of runs that are over, too: their own stores are closed.
        views = [*map(filed_view, filed.values()), *views]
    channel = call.query["channel"]
    views = [view for view in views if channel in ("", view["channel"])]
    return sorted(views, key=lambda view: view["requested_at"])[-limit:]


async def show(call: Call) -> HandoffView:
    try:
        handoff = await call.engine.handovers.find(call.path("handoff"))
    except NotFoundError:
        ours = {session.id for session in call.engine.loop.sessions}
        left = await call.engine.filing.left_behind(call.path("handoff"), ours)
        if left is None:
            raise
        return filed_view(left)
    filed = await call.engine.filing.all(LOOKED_AT)
    return handoff_view(call.engine, handoff, filed.get(handoff.id))


async def take(call: Call) -> LoadedView:
    """What waits in a channel, for the session that asks, or sent to the one it is for."""
    body: LoadBody = call.body
    session = call.engine.find(body["session"])
    if not session.alive:
        raise RefusedError(f"{session.name} has no running agent: it could not read it.")
    given = await call.engine.filing.take(session, body.get("channel"))
    if not body.get("send"):
        return _loaded(given, None)
    sent = await call.engine.mail.send(
        NewMessage(
            id=sent_as(given.handoff),
            to=session.id,
            sender=None,
            text=given.text,
            mode=Mode.IMPORTANT,
            notify=False,
            expires_in=None,
        )
    )
    if sent.state is MessageState.CANCELLED:
        # We died before the channel had it back.
        await call.engine.filing.withdrawn(sent)
        return await take(call)
    return _loaded(given, sent.id)


def _loaded(given: Given, message: MessageId | None) -> LoadedView:
    return {
        "id": given.handoff.id,
        "channel": given.handoff.channel,
        "kind": given.handoff.kind.value,
        "document": given.handoff.document,
        "text": given.text,
        "message": message,
    }


async def clear(call: Call) -> ClearedView:
    cleared = await call.engine.filing.clear(call.path("channel"))
    return {"channel": call.path("channel"), "cleared": [handoff.id for handoff in cleared]}


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
            Query(name="channel", type=str, default="", about="Only of this channel"),
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
    Endpoint(
        method="POST", path="/handoffs/load",
        about="Give what waits in a channel to a session that asks for it",
        handler=take, body=LoadBody, gives=LoadedView, refusals=(404, 409),
    ),
    Endpoint(
        method="DELETE", path="/channels/{channel}/handoff",
        about="Put away what waits in a channel, unread",
        handler=clear, gives=ClearedView, refusals=(404, 409),
    ),
)  # fmt: skip
