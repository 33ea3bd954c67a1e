"""Automatic documents, shown without acting."""

from sm.api.types import DraftView
from sm.core.draft import BUDGET, Draft
from sm.core.shortening import size
from sm.web.endpoint import BadRequestError, Call, Endpoint, Query, Whole

LARGEST = 10_000_000
_BUDGET = Query(name="budget", type=Whole, default=BUDGET, about="Bytes it may have")


async def of_session(call: Call) -> DraftView:
    budget = _budget(call)
    session = call.engine.find(call.path("session"))
    return _shown(await call.engine.drafts.of_session(session, budget), budget)


async def of_transcript(call: Call) -> DraftView:
    budget = _budget(call)
    path = call.query["transcript"]
    if not path or "\0" in path:
        raise BadRequestError("Name the transcript: ?transcript=FILE, with its whole path.")
    return _shown(await call.engine.drafts.of_transcript(path, budget), budget)


def _budget(call: Call) -> int:
    budget: int = call.query["budget"]
    return min(budget, LARGEST)


def _shown(draft: Draft, budget: int) -> DraftView:
    return {
        "document": draft.text,
        "size": size(draft.text),
        "budget": budget,
        "asides": [{"name": aside.name, "text": aside.text} for aside in draft.asides],
    }


ENDPOINTS = (
    Endpoint(
        method="GET", path="/sessions/{session}/draft", handler=of_session, gives=DraftView,
        about="The document sm would write for it now; nothing is done", query=(_BUDGET,),
        refusals=(404, 409),
    ),
    Endpoint(
        method="GET", path="/draft", handler=of_transcript, gives=DraftView,
        about="The document sm would write from a transcript", refusals=(404, 409),
        query=(
            Query(name="transcript", type=str, default="", about="The file, with its whole path"),
            _BUDGET,
        ),
    ),
)  # fmt: skip
