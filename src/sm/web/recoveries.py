"""Recoveries: what can be brought back, how, and the request."""

from sm.api.types import RecoverableView, RecoverBody, RecoveryPlanView, SessionDetail
from sm.core.crash import Manner
from sm.core.ids import RecoveryId
from sm.web.endpoint import BadRequestError, Call, Endpoint, Query, chosen_id
from sm.web.views import recoverable_view, recovery_plan_view, session_detail


async def list_(call: Call) -> list[RecoverableView]:
    recoveries = call.engine.recoveries
    lines = await recoveries.lines()
    shown = [await call.engine.without_secrets(s) for s in recoveries.recoverable()]
    return [recoverable_view(s, lines.get(s.id, 0)) for s in shown]


async def plan(call: Call) -> RecoveryPlanView:
    manner = _manner(call.query["way"] or None)
    session, planned, command = await call.engine.recoveries.plan(call.path("session"), manner)
    return recovery_plan_view(session, planned, command)


async def plan_lent(call: Call) -> RecoveryPlanView:
    body: RecoverBody = call.body
    session, planned, command = await call.engine.recoveries.plan(
        call.path("session"), _manner(body.get("way")), _lent(body)
    )
    return recovery_plan_view(session, planned, command)


def _lent(body: RecoverBody) -> dict[str, str] | None:
    environment = body.get("environment")
    if any("\0" in name + value or "=" in name for name, value in (environment or {}).items()):
        raise BadRequestError("The environment holds what no process can be started with.")
    return environment


async def recover(call: Call) -> SessionDetail:
    body: RecoverBody = call.body
    session = await call.engine.recoveries.request(
        call.path("session"),
        by="a person",
        recovery_id=RecoveryId(chosen_id(body.get("id"), "recovery", 8)),
        manner=_manner(body.get("way")),
        environment=_lent(body),
    )
    shown = await call.engine.without_secrets(session)
    return session_detail(call.engine, shown, call.engine.raw_log(session.id))


def _manner(way: str | None) -> Manner | None:
    if way is None:
        return None
    if way not in list(Manner):
        raise BadRequestError("way must be resume or fresh.")
    return Manner(way)


ENDPOINTS = (
    Endpoint(
        method="GET", path="/recoverable", about="Sessions whose agent died unasked",
        handler=list_, gives=list[RecoverableView], refusals=(409,),
    ),
    Endpoint(
        method="GET", path="/sessions/{session}/recovery", handler=plan, gives=RecoveryPlanView,
        about="How it would be brought back; nothing is done", refusals=(404, 409),
        query=(Query(name="way", type=str, default="", about="resume or fresh; else what fits"),),
    ),
    Endpoint(
        method="POST", path="/sessions/{session}/recovery", handler=plan_lent, body=RecoverBody,
        gives=RecoveryPlanView, refusals=(404, 409),
        about="The same, with the environment that would be lent to it; nothing is done",
    ),
    Endpoint(
        method="POST", path="/sessions/{session}/recover", about="Bring a crashed session back",
        handler=recover, body=RecoverBody, gives=SessionDetail, status=202, refusals=(404, 409),
    ),
)  # fmt: skip
