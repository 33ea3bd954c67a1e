"""Contexts: how full each is, where its levels lie, and whether its agent is warned."""

from sm.api.types import ContextUsage, ForecastView, MonitorBody, ThresholdView
from sm.core import monitor
from sm.core.forecast import forecast
from sm.core.monitor import Mark
from sm.core.state import Level, Session, State
from sm.web.endpoint import Call, Endpoint
from sm.web.views import compaction_view, context_view


async def context(call: Call) -> ContextUsage:
    return _shown(call, call.engine.find(call.path("session")))


async def contexts(call: Call) -> list[ContextUsage]:
    """Of every session that has not ended."""
    living = (s for s in call.engine.loop.sessions if s.state is not State.ENDED)
    return [_shown(call, s) for s in sorted(living, key=lambda s: s.created_at)]


async def switch(call: Call) -> ContextUsage:
    body: MonitorBody = call.body
    return _shown(
        call, await call.engine.sessions.monitor(call.path("session"), on=body["monitored"])
    )


def _shown(call: Call, session: Session) -> ContextUsage:
    return context_usage(session, call.engine.compacts_at(session), call.engine.clock.now())


def context_usage(session: Session, compacts_at: int | None, now: float) -> ContextUsage:
    known, held = session.context.usage, session.context
    marks = monitor.marks(session.thresholds, known.window if known else None, compacts_at)
    return {
        **context_view(held),
        "session": session.id,
        "name": session.name,
        "model": known.model or None if known else None,
        "source": known.source if known else None,
        "at": known.at if known else None,
        "compactions": held.compactions,
        "compacts_at": compacts_at,
        "last_compaction": compaction_view(held.compacted),
        "monitored": monitor.is_watching(session),
        "opted_out": not session.monitored,
        "level": monitor.level(session),
        "thresholds": [_threshold(mark, held.alerted) for mark in marks],
        "history": [{"at": sample.at, "tokens": sample.tokens} for sample in held.samples],
        "forecast": _forecast(session, marks, now),
        "tools": session.tools,
        "alarm": monitor.alarm(session, now),
    }


def _threshold(mark: Mark, alerted: tuple[Level, ...]) -> ThresholdView:
    return {
        "level": mark.level.shown,
        "tokens": mark.tokens,
        "wanted": mark.wanted,
        "moved": mark.moved,
        "reached": mark.level in alerted,
    }


def _forecast(session: Session, marks: tuple[Mark, ...], now: float) -> ForecastView | None:
    limits = [(mark.level, mark.tokens) for mark in marks]
    ahead = forecast(session.context.samples, limits, now)
    return None if ahead is None else {"level": ahead.level.shown, "seconds": ahead.seconds}


ENDPOINTS = (
    Endpoint(
        method="GET", path="/contexts", about="How full each session's context is",
        handler=contexts, gives=list[ContextUsage],
    ),
    Endpoint(
        method="GET", path="/sessions/{session}/context", about="How full its context is",
        handler=context, gives=ContextUsage, refusals=(404, 409),
    ),
    Endpoint(
        method="PATCH", path="/sessions/{session}/context", handler=switch, body=MonitorBody,
        about="Warn its agent when the context fills, or leave it alone", gives=ContextUsage,
        refusals=(404, 409),
    ),
)  # fmt: skip
