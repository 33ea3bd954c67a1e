"""What the person was told: listed, marked as seen, put away."""

from sm.api.types import NoticesCleared, NoticeView, SeenBody
from sm.core.notices import PersonNotice
from sm.core.state import State
from sm.engine.engine import Engine
from sm.engine.loop import UnknownSessionError
from sm.web.endpoint import Call, Endpoint, Query


async def list_(call: Call) -> list[NoticeView]:
    only_new = call.query["unseen"]
    found = [n for n in await call.engine.notices.all() if not (only_new and n.seen)]
    return [notice_view(call.engine, n) for n in found if _still_holds(call.engine, n)]


def _still_holds(engine: Engine, notice: PersonNotice) -> bool:
    """Whether it can still be done what it says is to be done."""
    try:
        is_crashed = engine.session(notice.session).state is State.CRASHED
    except UnknownSessionError:
        return not notice.while_crashed
    return is_crashed or not notice.while_crashed


async def see(call: Call) -> None:
    body: SeenBody = call.body
    await call.engine.notices.see(set(body["notices"]))


async def clear(call: Call) -> NoticesCleared:
    return {"cleared": await call.engine.notices.clear()}


def notice_view(engine: Engine, notice: PersonNotice) -> NoticeView:
    try:
        name = engine.session(notice.session).name
    except UnknownSessionError:
        name = notice.session
    return {
        "id": notice.id,
        "session": notice.session,
        "name": name,
        "words": notice.words,
        "at": notice.at,
        "seen": notice.seen,
    }


ENDPOINTS = (
    Endpoint(
        method="GET", path="/notices", about="What the person was told, oldest first",
        handler=list_, gives=list[NoticeView],
        query=(Query(name="unseen", type=bool, default=False, about="Only what nobody has seen"),),
    ),
    Endpoint(
        method="POST", path="/notices/seen", about="Mark notices as seen by the person",
        handler=see, body=SeenBody, status=204,
    ),
    Endpoint(
        method="DELETE", path="/notices", about="Put all notices away", handler=clear,
        gives=NoticesCleared,
    ),
)  # fmt: skip
