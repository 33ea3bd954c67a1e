"""Snapshots: one taken now, those that are kept, and what one of them says."""

from sm.api.types import SnapshotText, SnapshotView
from sm.core.snapshot import Snapshot
from sm.web.endpoint import Call, Endpoint


async def take(call: Call) -> SnapshotView:
    session = call.engine.find(call.path("session"))
    return _view(await call.engine.snapshots.ask(session))


async def list_(call: Call) -> list[SnapshotView]:
    session = call.engine.find(call.path("session"))
    return [_view(snapshot) for snapshot in await call.engine.snapshots.all(session.id)]


async def show(call: Call) -> SnapshotText:
    session = call.engine.find(call.path("session"))
    snapshot, text = await call.engine.snapshots.show(session, call.path("snapshot"))
    return {**_view(snapshot), "text": text}


def _view(snapshot: Snapshot) -> SnapshotView:
    return {
        "name": snapshot.name,
        "session": snapshot.session,
        "path": snapshot.path,
        "at": snapshot.at,
        "lines": snapshot.lines,
        "size": snapshot.size,
        "why": snapshot.why.value,
    }


ENDPOINTS = (
    Endpoint(
        method="POST", path="/sessions/{session}/snapshots", handler=take, gives=SnapshotView,
        about="Keep what its terminal holds now", status=201, refusals=(404, 409),
    ),
    Endpoint(
        method="GET", path="/sessions/{session}/snapshots", handler=list_,
        gives=list[SnapshotView], about="What was kept of its terminal, newest first",
        refusals=(404,),
    ),
    Endpoint(
        method="GET", path="/sessions/{session}/snapshots/{snapshot}", handler=show,
        gives=SnapshotText, about="What one of them says, without secrets", refusals=(404, 409),
    ),
)  # fmt: skip
