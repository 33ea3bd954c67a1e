"""About the daemon itself: health and metrics."""

from collections.abc import Callable

from starlette.responses import Response

from sm.api.types import Health
from sm.core.state import State
from sm.engine.engine import Engine
from sm.web.endpoint import Call, Endpoint


def endpoints(health: Callable[[], Health]) -> tuple[Endpoint, ...]:
    async def tell_health(call: Call) -> Health:
        return health()

    async def metrics(call: Call) -> Response:
        return Response(exposition(call.engine), media_type="text/plain; version=0.0.4")

    return (
        Endpoint(method="GET", path="/health", about="Whether the daemon is well",
                 handler=tell_health, gives=Health),
        Endpoint(method="GET", path="/metrics", about="Figures for Prometheus", handler=metrics,
                 gives=str, media="text/plain"),
    )  # fmt: skip


def exposition(engine: Engine) -> bytes:
    """The figures in Prometheus' own form. Its library is loaded when first asked for."""
    from prometheus_client import (
        CollectorRegistry,
        Counter,
        Gauge,
        disable_created_metrics,
        generate_latest,
    )

    # They would tell when they were asked for, not when they began.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    sessions = Gauge("sm_sessions", "Sessions by state", ["state"], registry=registry)
    for state in State:
        sessions.labels(state.value).set(sum(s.state is state for s in engine.loop.sessions))
    queued = Gauge("sm_messages_open", "Messages not yet done", registry=registry)
    queued.set(sum(m.is_open for s in engine.loop.sessions for m in s.messages))
    tally = engine.loop.tally
    for name, about, value in (
        ("sm_events", "Events committed since the daemon started", tally.events),
        ("sm_commits", "Transactions since the daemon started", tally.commits),
        ("sm_effects", "Effects asked for since the daemon started", tally.effects),
        ("sm_failed_commits", "Transactions that failed", tally.failed_commits),
    ):
        Counter(name, about, registry=registry).inc(value)
    seconds = Counter(
        "sm_recovery_seconds", "Seconds recoveries took since the daemon started", registry=registry
    )
    seconds.inc(tally.recovering)
    recoveries = Counter(
        "sm_recoveries", "Recoveries that are over since the daemon started",
        ["cause", "way", "outcome"], registry=registry,
    )  # fmt: skip
    for (cause, way, outcome), count in tally.recoveries.items():
        recoveries.labels(cause, way, outcome).inc(count)
    hopeless = Gauge("sm_hopeless", "Sessions that are not brought back any more",
                     registry=registry)  # fmt: skip
    hopeless.set(sum(bool(session.hopeless) for session in engine.loop.sessions))
    return generate_latest(registry)
