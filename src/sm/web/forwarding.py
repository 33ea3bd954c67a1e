"""Several engines behind one address: what this one does not know, another may.

Each run of ``sm run`` has an engine of its own. The daemon lists their sessions with its own, and
hands a request on to them when it would have to say that there is no such thing; a run does the
same with the daemon. A request is handed on once. One that does not answer is not one that knows
nothing: it is never waited for long, and what is its own is not denied.
"""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sm.api.runs import Run
from sm.api.types import SessionView
from sm.core.state import State
from sm.web.endpoint import NO_JSON, BadRequestError, refusal, whole_body

LISTS = frozenset({"/sessions", "/contexts", "/handoffs", "/messages", "/reminders", "/notices"})
FOR_ALL = frozenset({("POST", "/notices/seen"), ("DELETE", "/notices")})
"""What the person does with a list is done with all that was in it."""
MARK_NAME = "x-sm-forwarded"
MARK = MARK_NAME.encode()
ANSWER_WITHIN, ENDED_WITHIN = 5.0, 60.0
LOOK_WITHIN, SILENT_WITHIN = 1.0, 0.25
"""For a list, or what most likely is not its own; and for anything, after it did not answer."""
NOT_FOUND, UNANSWERED, FINE, NO_CONTENT = 404, 504, 200, 204
_WAITS = "/wait"
_LARGEST = 64_000_000

Known = Mapping[str, Run | None]
"""Other engines by their sockets, each with the run it is of; None: the daemon."""
Others = Callable[[], Known]
TakeIn = Callable[[], Awaitable[None]]
Lives = Callable[[str], bool]
"""Whether a session lives here, by any reference to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Forwarding:
    """Wraps the application."""

    def __init__(
        self,
        app: ASGIApp,
        others: Others,
        *,
        lives: Lives,
        take_in: TakeIn | None = None,
        is_run: bool = False,
        within: float = ANSWER_WITHIN,
    ) -> None:
        """``take_in``: makes ours what other engines left behind. ``is_run``: it has its one
        session, and begins no other. ``within``: how long another engine may take to answer."""
        self._app = app
        self._others = others
        self._lives = lives
        self._take_in = take_in
        self._is_run = is_run
        self._within = within
        self._silent: dict[str, float] = {}
        """Since when those that did not answer when last asked do not."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _may_be_elsewhere(scope):
            await self._app(scope, receive, send)
            return
        if self._take_in is not None:
            # Of a run that ended a moment ago, its own engine says nothing any more.
            await self._take_in()
        others = await asyncio.to_thread(self._others)
        if not others and not (self._is_run and _is_new(scope)):
            await self._app(scope, receive, send)
            return
        try:
            body = await whole_body(receive)
        except (ClientDisconnect, BadRequestError) as error:
            await refusal(error)(scope, receive, send)
            return
        await _give(send, await self._answer(scope, body, others))

    async def _answer(self, scope: Scope, body: bytes, others: Known) -> Answer:
        if _is_new(scope):
            return await self._begun(scope, body, others)
        if (scope["method"], scope["path"]) in FOR_ALL:
            return await self._for_all(scope, body, others)
        elsewhere, said = await self._living(scope, others)
        if said.status == UNANSWERED:
            # Not asked to do it: it would, once it goes on, whatever was done instead.
            return said
        if elsewhere is not None:
            taken = await self._taken(scope, body, others) if scope["method"] == "PATCH" else None
            if taken is not None:
                return taken
            answer = await self._ask(elsewhere, others[elsewhere], scope, body)
            return answer or _unanswered(others[elsewhere])
        own = await _asked(self._app, scope, body)
        if _is_list(scope) and own.status == FINE:
            return _merged(own, await self._listed(scope, others), scope)
        if own.status != NOT_FOUND:
            return own
        return await self._known(scope, body, self._hearing(scope, others)) or own

    async def _begun(self, scope: Scope, body: bytes, others: Known) -> Answer:
        """A new session: here; a run has the daemon begin it."""
        if self._is_run:
            for path, run in others.items():
                answer = await self._ask(path, run, scope, body)
                if answer is not None:
                    return answer
            return _ALONE
        return await _asked(self._app, scope, body)

    async def _taken(self, scope: Scope, body: bytes, others: Known) -> Answer | None:
        """That a session elsewhere may not be called so, if one that is not over has the name: it
        knows of runs, and not of the daemon's."""
        name = _named(body)
        if name is None:
            return None
        about = _about(scope, name)
        answers = [answer for _, answer in await self._ask_all(about, others)]
        answers.append(await _asked(self._app, about, b""))
        if any(_has_name(answer, name, besides=_session_in(scope) or "") for answer in answers):
            return _refused(f"The name {name!r} is taken. Choose another: sm ls")
        return None

    async def _for_all(self, scope: Scope, body: bytes, others: Known) -> Answer:
        """Done everywhere; of several counts, the sum."""
        own = await _asked(self._app, scope, body)
        if own.status not in (FINE, NO_CONTENT):
            return own
        answers = [answer for _, answer in await self._ask_all(scope, others, body)]
        return _summed(own, answers) if own.status == FINE else own

    async def _living(self, scope: Scope, others: Known) -> tuple[str | None, Answer]:
        """The other engine in which the session that is asked for lives, if here it does not; and
        what it said."""
        name = _session_in(scope)
        if name is None or not str(scope["path"]).startswith("/sessions/"):
            return None, _NOWHERE
        if self._lives(name):
            return None, _NOWHERE
        about = _about(scope, name)
        found = await self._ask_all(about, others)
        for path, answer in found:
            if _lives(answer):
                return path, answer
        for path, answer in found:
            if answer.status == UNANSWERED and _is_called(others[path], name):
                return path, answer
        return None, _NOWHERE

    async def _listed(self, scope: Scope, others: Known) -> list[Answer]:
        """What the others list; of a run that does not answer, that there is one."""
        lists = []
        for path, answer in await self._ask_all(scope, others):
            run = others[path]
            if answer.status == UNANSWERED and run is not None and scope["path"] == "/sessions":
                lists.append(_answer(FINE, [_silent_view(run, self._silent[path])]))
            else:
                lists.append(answer)
        return lists

    def _hearing(self, scope: Scope, others: Known) -> Known:
        """Who may be asked to do it. One that did not say whether the session is its own would do
        it later, after we have said that there is none."""
        if not str(scope["path"]).startswith("/sessions/"):
            return others
        return {path: run for path, run in others.items() if path not in self._silent}

    async def _known(self, scope: Scope, body: bytes, others: Known) -> Answer | None:
        """What one of the others says that knows of it; or that one that may does not answer."""
        name, silent = _session_in(scope), None
        async with asyncio.TaskGroup() as tasks:
            asking = {
                tasks.create_task(self._ask(path, run, scope, body)): run
                for path, run in others.items()
            }
            waiting = set(asking)
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for answer, run in ((task.result(), asking[task]) for task in done):
                    if answer is None or answer.status == NOT_FOUND:
                        continue
                    if answer.status != UNANSWERED:
                        for task in waiting:
                            task.cancel()
                        return answer
                    if name is None or _is_called(run, name):
                        silent = answer
        return silent

    async def _ask_all(
        self, scope: Scope, others: Known, body: bytes = b""
    ) -> list[tuple[str, Answer]]:
        """A look at all of them at once; who is gone is left out."""
        answers = await asyncio.gather(
            *(self._ask(path, run, scope, body, is_look=True) for path, run in others.items())
        )
        found = zip(others, answers, strict=True)
        return [(path, answer) for path, answer in found if answer is not None]

    async def _ask(
        self, path: str, run: Run | None, scope: Scope, body: bytes, *, is_look: bool = False
    ) -> Answer | None:
        """What another engine answers, if only that it does not; None where nobody is."""
        patience = self._patience(scope)
        if is_look and not _is_meant(run, scope):
            patience = LOOK_WITHIN
        if patience is not None and path in self._silent:
            patience = min(patience, SILENT_WITHIN)
        try:
            async with asyncio.timeout(patience):
                answer = await _exchange(path, scope, body)
        except TimeoutError:
            self._silent.setdefault(path, time.time())
            return _unanswered(run)
        except (OSError, ValueError, asyncio.IncompleteReadError):
            answer = None
        self._silent.pop(path, None)
        return answer

    def _patience(self, scope: Scope) -> float | None:
        if scope["method"] == "DELETE":
            # An end takes its time.
            return ENDED_WITHIN
        if scope["path"].endswith(_WAITS):
            # Answered when it is over; the session was found to live just now.
            return None
        wait = _asked_for(scope, "wait")
        return self._within + (float(wait) if wait.replace(".", "", 1).isdecimal() else 0.0)


def _is_list(scope: Scope) -> bool:
    return scope["method"] == "GET" and scope["path"] in LISTS


def _is_new(scope: Scope) -> bool:
    return scope["method"] == "POST" and scope["path"] in ("/sessions", "/sessions/adopt")


def _session_in(scope: Scope) -> str | None:
    """The session that a request names, if any."""
    parts = str(scope["path"]).split("/")
    if len(parts) > 2 and parts[1] == "sessions":
        return parts[2]
    return _asked_for(scope, "session") or None


def _asked_for(scope: Scope, what: str) -> str:
    found = parse_qs(scope["query_string"].decode(errors="replace"))
    return found[what][0] if what in found else ""


def _is_called(run: Run | None, name: str) -> bool:
    """Whether a run began under this name, or has this id or one that begins so."""
    return run is not None and bool(name) and (run["name"] == name or run["id"].startswith(name))


def _is_meant(run: Run | None, scope: Scope) -> bool:
    return _is_called(run, _session_in(scope) or "")


def _named(body: bytes) -> str | None:
    try:
        name = msgspec.json.decode(body).get("name")
    except (*NO_JSON, AttributeError):
        return None
    return name if isinstance(name, str) and name else None


def _about(scope: Scope, session: str) -> Scope:
    """The question what a session is."""
    path = f"/sessions/{session}"
    asked = {"method": "GET", "path": path, "raw_path": quote(path).encode(), "query_string": b""}
    return {**scope, **asked}


def _lives(answer: Answer | None) -> bool:
    if answer is None or answer.status != FINE:
        return False
    return msgspec.json.decode(answer.body).get("state") not in ("ended", "crashed")


def _has_name(answer: Answer, name: str, *, besides: str) -> bool:
    """Whether a session that is not over is called so, and is not the one that is meant itself."""
    if answer.status != FINE:
        return False
    told = msgspec.json.decode(answer.body)
    if told.get("name") != name or told.get("state") == State.ENDED:
        return False
    return besides != name and not str(told["id"]).startswith(besides)


def _answer(status: int, value: object) -> Answer:
    body = msgspec.json.encode(value)
    headers = ((b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)))
    return Answer(status=status, headers=headers, body=body)


def _refused(words: str, status: int = 409) -> Answer:
    return _answer(status, {"error": words})


_ALONE = _refused("A run has its own session alone, and no daemon is there to begin another.")
_NOWHERE = _refused("No other engine has it.", NOT_FOUND)


def _unanswered(run: Run | None) -> Answer:
    """Without a full stop: whoever asked knows what that may mean."""
    if run is None:
        return _refused("The daemon does not answer. See: sm doctor", UNANSWERED)
    words = (
        f"{run['name']} (an sm run, process {run['pid']}) does not answer. "
        f"If it was stopped: fg in its terminal, or kill -CONT {run['pid']}"
    )
    return _refused(words, UNANSWERED)


def _silent_view(run: Run, since: float) -> SessionView:
    """A session of which no more is known than that its run does not answer."""
    return {
        "id": run["id"],
        "name": run["name"],
        "agent": run["agent"],
        "state": State.UNKNOWN.value,
        "state_since": since,
        "cwd": run["cwd"],
        "channel": None,
        "parent": None,
        "host": socket.gethostname().split(".")[0],
        "auto_handoff": True,
        "created_at": run["began_at"],
        "context": {
            "number": 1,
            "id": None,
            "transcript": None,
            "tokens": None,
            "window": None,
            "percent": None,
        },
        "tmux": None,
        "queued": 0,
        "last_handoff": None,
        "hopeless": None,
    }


def _may_be_elsewhere(scope: Scope) -> bool:
    if scope["type"] != "http" or any(name == MARK for name, _ in scope["headers"]):
        return False
    path = str(scope["path"])
    return path.startswith("/") and f"/{path.split('/')[1]}" in LISTS


async def _asked(app: ASGIApp, scope: Scope, body: bytes) -> Answer:
    """Our own answer, whole."""
    status, headers, parts = 0, (), []
    is_told = False

    async def receive() -> Message:
        nonlocal is_told
        if is_told:
            await asyncio.Event().wait()
        is_told = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], tuple(message["headers"])
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return Answer(status=status, headers=headers, body=b"".join(parts))


async def _exchange(path: str, scope: Scope, body: bytes) -> Answer:
    reader, writer = await asyncio.open_unix_connection(path, limit=_LARGEST)
    try:
        writer.write(_request(scope, body))
        return await _read(reader)
    finally:
        writer.close()


def _request(scope: Scope, body: bytes) -> bytes:
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    kept = [(n, v) for n, v in scope["headers"] if n in (b"content-type", b"authorization")]
    head = [
        b"%s %s HTTP/1.1" % (scope["method"].encode(), target),
        b"host: localhost",
        b"connection: close",
        b"content-length: %d" % len(body),
        MARK + b": 1",
        *(b"%s: %s" % pair for pair in kept),
    ]
    return b"\r\n".join([*head, b"", body])


async def _read(reader: asyncio.StreamReader) -> Answer:
    first, *fields = (await reader.readuntil(b"\r\n\r\n")).rstrip().split(b"\r\n")
    headers = [tuple(part.strip() for part in field.split(b":", 1)) for field in fields]
    pairs = tuple((name.lower(), value) for name, value in headers)
    length = next((int(value) for name, value in pairs if name == b"content-length"), 0)
    return Answer(
        status=int(first.split()[1]), headers=pairs, body=await reader.readexactly(length)
    )


def _summed(own: Answer, others: Sequence[Answer]) -> Answer:
    told: list[dict[str, int]] = [
        msgspec.json.decode(answer.body) for answer in (own, *others) if answer.status == FINE
    ]
    return _answer(own.status, {count: sum(one[count] for one in told) for count in told[0]})


def _merged(own: Answer, others: Sequence[Answer], scope: Scope) -> Answer:
    """Every list behind our own, what has a time in its order. What several tell of is told once:
    by whose it is, rather than by the ledger alone."""
    together = [msgspec.json.decode(answer.body, type=list[Any]) for answer in (own, *others)
                if answer.status == FINE]  # fmt: skip
    items = [item for found in together for item in found]
    told: dict[Any, Any] = {}
    for number, item in enumerate(items):
        key = item.get("id") or number
        if key not in told or told[key].get("context") == 0:
            told[key] = item
    in_order = sorted(told.values(), key=_time)
    limit = _asked_for(scope, "limit")
    # As each of them counts it: one at least.
    newest = in_order[-max(int(limit), 1) :] if limit.isdecimal() else in_order
    body = msgspec.json.encode(newest)
    headers = tuple((n, v) for n, v in own.headers if n != b"content-length")
    length = (b"content-length", b"%d" % len(body))
    return Answer(status=own.status, headers=(*headers, length), body=body)


def _time(item: Mapping[str, Any]) -> float:
    """When a handoff or a message was asked for, or a notice told. A list without times keeps its
    order."""
    receipts = item.get("receipts")
    at = item.get("requested_at") or item.get("at") or 0.0
    return float(receipts[0]["at"] if receipts else at)


async def _give(send: Send, answer: Answer) -> None:
    kept = [(n, v) for n, v in answer.headers if n not in (b"connection", b"transfer-encoding")]
    await send({"type": "http.response.start", "status": answer.status, "headers": kept})
    await send({"type": "http.response.body", "body": answer.body})
