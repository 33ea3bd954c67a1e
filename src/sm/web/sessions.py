"""Sessions: start, list, look at, rename, wait for, end."""

import os
from collections.abc import Callable
from pathlib import Path

from sm.api.types import (
    AdoptBody,
    Explanation,
    LogView,
    NewSessionBody,
    RenameBody,
    ScreenView,
    SessionDetail,
    SessionView,
)
from sm.core import recovery
from sm.core.ids import SessionId
from sm.core.launch import TerminalUnreachableError
from sm.core.reasons import what_keeps
from sm.core.state import Session, State
from sm.engine.naming import RefusedError
from sm.engine.sessions import NewAdoption, NewSession
from sm.web.endpoint import BadRequestError, Call, Endpoint, Query, Seconds, Whole, chosen_id
from sm.web.events import shown
from sm.web.views import explanation, session_detail, session_view

LONGEST_WAIT = 7 * 86_400.0
_WAIT = Query(name="timeout", type=Seconds, default=30.0, about="Seconds to wait at most")


async def list_(call: Call) -> list[SessionView]:
    everything = call.query["all"]
    wanted = [s for s in call.engine.loop.sessions if everything or s.state is not State.ENDED]
    shown = await call.engine.listed(sorted(wanted, key=lambda s: s.created_at))
    return [session_view(call.engine, s) for s in shown]


async def create(call: Call) -> SessionDetail:
    body: NewSessionBody = call.body
    _refuse_unusable(body)
    session = await call.engine.sessions.new(
        NewSession(
            id=SessionId(chosen_id(body.get("id"), "session", 8)),
            name=body.get("name"),
            agent=body["agent"],
            arguments=tuple(body.get("arguments", [])),
            cwd=body["cwd"],
            parent=body.get("parent"),
            environment=body.get("environment", {}),
            prompt=body.get("prompt"),
            monitored=body.get("monitored", True),
            auto_handoff=body.get("auto_handoff", False),
        )
    )
    if session.pane is None and session.exit is not None:
        raise RefusedError(f"{session.name} could not be started: {session.verdict.says}")
    return await _detail(call, session)


async def adopt(call: Call) -> SessionDetail:
    body: AdoptBody = call.body
    socket = body.get("socket")
    if socket is not None and not os.path.isabs(socket):  # noqa: PTH117 - never raises
        raise BadRequestError(f"The tmux socket {socket!r} is no absolute path.")
    if not body["pane"] or "\0" in body["pane"] + (socket or ""):
        raise BadRequestError("Name a pane, such as %5 or work:1.0.")
    session = await call.engine.sessions.adopt(
        NewAdoption(
            id=SessionId(chosen_id(body.get("id"), "session", 8)),
            pane=body["pane"],
            socket=socket,
            name=body.get("name"),
            agent=body.get("agent"),
        )
    )
    if session.pane is None and session.exit is not None:
        raise RefusedError(f"{session.name} could not be adopted: {session.verdict.says}")
    return await _detail(call, session)


async def release(call: Call) -> SessionDetail:
    released = await call.engine.sessions.release(call.path("session"), by="a person")
    return await _detail(call, released)


def _refuse_unusable(body: NewSessionBody) -> None:
    """What no process can be started with."""
    cwd = body["cwd"]
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):  # noqa: PTH112, PTH117 - never raises
        raise BadRequestError(f"The working directory {cwd!r} does not exist. Give --cwd DIR.")
    if any("\0" in word for word in (body["agent"], *body.get("arguments", []))):
        raise BadRequestError("Arguments cannot hold NUL characters.")
    for name, value in body.get("environment", {}).items():
        if "\0" in name + value:
            raise BadRequestError(f"The variable {name!r} holds a NUL character.")
        if "=" in name:
            raise BadRequestError(f"{name!r} cannot be the name of a variable.")


async def show(call: Call) -> SessionDetail:
    return await _detail(call, call.engine.find(call.path("session")))


async def _detail(call: Call, session: Session) -> SessionDetail:
    shown = await call.engine.without_secrets(session)
    return session_detail(call.engine, shown, call.engine.raw_log(session.id))


async def rename(call: Call) -> SessionDetail:
    renamed = await call.engine.sessions.rename(call.path("session"), call.body["name"])
    return await _detail(call, renamed)


async def kill(call: Call) -> SessionDetail:
    return await _detail(call, await call.engine.sessions.kill(call.path("session"), by="a person"))


async def wait(call: Call) -> SessionDetail:
    session = call.engine.find(call.path("session"))
    is_there = goal(call.query["until"], session)
    within = min(call.query["timeout"], LONGEST_WAIT)
    if not await call.engine.loop.wait_until(
        lambda: is_there(call.engine.session(session.id)), within
    ):
        now = call.engine.session(session.id)
        rest = what_keeps(now) if call.query["until"] == "idle" else None
        if rest is not None:
            raise RefusedError(f"{now.name} is idle, but after {within:g} s {rest}.")
        raise RefusedError(f"{now.name} is still {now.state.value} after {within:g} s.")
    return await _detail(call, call.engine.session(session.id))


def goal(wanted: str, session: Session) -> Callable[[Session], bool]:
    """What a session is waited for to be. One that is over will not change by itself any more."""
    if wanted == "ended":
        return _is_over
    if wanted != "idle":
        raise BadRequestError("until must be idle or ended.")
    if not session.proves:
        raise RefusedError(
            f"{session.name} runs an agent that does not report when it is idle. "
            f"Wait for its end with: sm wait {session.name} --for ended"
        )
    return lambda now: _is_over(now) or _is_settled(now)


def _is_over(session: Session) -> bool:
    return session.state is State.ENDED or recovery.is_over(session)


def _is_settled(session: Session) -> bool:
    return session.state is State.IDLE and not any(m.is_open for m in session.messages)


async def explain(call: Call) -> Explanation:
    session = await call.engine.without_secrets(call.engine.find(call.path("session")))
    recent = await call.engine.store.last_events(session.id, 12)
    recorded = await shown(call.engine, recent)
    return explanation(session, recorded, call.engine.clock.now())


async def screen(call: Call) -> ScreenView:
    session = call.engine.find(call.path("session"))
    if session.pane is None:
        raise RefusedError(f"{session.name} has no terminal. See: sm log {session.name}")
    try:
        view = await call.engine.look(session)
    except TerminalUnreachableError as error:
        raise RefusedError(f"tmux cannot be reached: {error}. See: sm doctor") from None
    if view is None:
        raise RefusedError(f"{session.name}'s terminal is gone. See: sm log {session.name}")
    return {
        "lines": list(view.lines),
        "width": view.width,
        "height": view.height,
        "title": view.title,
    }


async def log(call: Call) -> LogView:
    session = call.engine.find(call.path("session"))
    lines = await call.engine.rendered_log(session.id)
    limit = call.query["lines"]
    path = Path(call.engine.raw_log(session.id))
    return {
        "lines": lines[-limit:] if limit > 0 else lines,
        "path": str(path),
        "bytes": path.stat().st_size if path.exists() else 0,
    }


ENDPOINTS = (
    Endpoint(
        method="GET", path="/sessions", about="List sessions", handler=list_,
        gives=list[SessionView],
        query=(Query(name="all", type=bool, default=False, about="Ended ones too"),),
    ),
    Endpoint(
        method="POST", path="/sessions", about="Start an agent in a new session", handler=create,
        body=NewSessionBody, gives=SessionDetail, status=201, refusals=(404, 409),
    ),
    Endpoint(
        method="POST", path="/sessions/adopt", about="Take over an agent that runs in tmux",
        handler=adopt, body=AdoptBody, gives=SessionDetail, status=201, refusals=(404, 409),
    ),
    Endpoint(
        method="POST", path="/sessions/{session}/release", handler=release, gives=SessionDetail,
        about="Let go of an adopted session; its agent lives on", refusals=(404, 409),
    ),
    Endpoint(
        method="GET", path="/sessions/{session}", about="Everything about one session",
        handler=show, gives=SessionDetail, refusals=(404, 409),
    ),
    Endpoint(
        method="PATCH", path="/sessions/{session}", about="Rename a session", handler=rename,
        body=RenameBody, gives=SessionDetail, refusals=(404, 409),
    ),
    Endpoint(
        method="DELETE", path="/sessions/{session}", about="End a session and its agent",
        handler=kill, gives=SessionDetail, refusals=(404, 409),
    ),
    Endpoint(
        method="GET", path="/sessions/{session}/wait", about="Wait for a state", handler=wait,
        gives=SessionDetail, refusals=(404, 409),
        query=(Query(name="until", type=str, default="idle", about="idle or ended"), _WAIT),
    ),
    Endpoint(
        method="GET", path="/sessions/{session}/explain", handler=explain, gives=Explanation,
        about="Why we believe its state: evidence, source, age", refusals=(404, 409),
    ),
    Endpoint(
        method="GET", path="/sessions/{session}/screen", about="What its terminal shows now",
        handler=screen, gives=ScreenView, refusals=(404, 409),
    ),
    Endpoint(
        method="GET", path="/sessions/{session}/log", about="Everything it showed, as text",
        handler=log, gives=LogView, refusals=(404, 409),
        query=(Query(name="lines", type=Whole, default=0, about="Only the last N; 0 for all"),),
    ),
)  # fmt: skip
