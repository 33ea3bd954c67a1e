"""All resources together."""

from collections.abc import Callable
from functools import partial

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from sm.api.types import Health
from sm.core.state import State
from sm.engine.engine import Engine
from sm.engine.naming import NotFoundError
from sm.log import structlog
from sm.web import (
    contexts,
    drafts,
    events,
    handoffs,
    hooks,
    messages,
    notices,
    openapi,
    recoveries,
    sessions,
    snapshots,
    system,
)
from sm.web.endpoint import Endpoint, problem, routes
from sm.web.forwarding import Forwarding, Others, TakeIn


def all_endpoints(health: Callable[[], Health]) -> tuple[Endpoint, ...]:
    """Every documented endpoint."""
    return (
        *system.endpoints(health),
        *events.ENDPOINTS,
        *sessions.ENDPOINTS,
        *contexts.ENDPOINTS,
        *messages.ENDPOINTS,
        *handoffs.ENDPOINTS,
        *drafts.ENDPOINTS,
        *recoveries.ENDPOINTS,
        *snapshots.ENDPOINTS,
        *notices.ENDPOINTS,
        hooks.DOCUMENTED,
        hooks.DOCUMENTED_STRAY,
    )


def build(
    engine: Engine,
    health: Callable[[], Health],
    set_aside: hooks.SetAside,
    others: Others = dict,
    *,
    take_in: TakeIn | None = None,
    is_run: bool = False,
) -> ASGIApp:
    """``others``: engines that may know what this one does not. ``take_in``: makes ours what such
    engines left behind when they ended."""
    endpoints = all_endpoints(health)
    described: list[bytes] = []

    async def description(request: Request) -> Response:
        if not described:
            described.append(msgspec.json.encode(openapi.describe(endpoints)))
        return Response(described[0], media_type="application/json")

    described_at = Route("/openapi.json", description, methods=["GET"])
    routed = Starlette(
        routes=[*routes(endpoints, engine), described_at],
        exception_handlers={HTTPException: _http_refusal, Exception: _unforeseen},
    )
    forwarding = Forwarding(
        routed, others, lives=partial(_lives, engine), take_in=take_in, is_run=is_run
    )
    intake = hooks.HookIntake(engine, set_aside, otherwise=forwarding)
    return ServerErrorMiddleware(intake, handler=_unforeseen)


def _lives(engine: Engine, reference: str) -> bool:
    try:
        return engine.find(reference).state not in (State.ENDED, State.CRASHED)
    except NotFoundError:
        return False


async def _http_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "There is no such address.", 405: "This address does not take that method."}
    answer = problem(error.status_code, words.get(error.status_code, error.detail))
    answer.headers.update(error.headers or {})
    return answer


async def _unforeseen(request: Request, error: Exception) -> Response:
    structlog.get_logger().error("A request failed", path=request.url.path, exc_info=error)
    return problem(500, "Something unforeseen happened. The daemon's log has it: sm daemon logs")
