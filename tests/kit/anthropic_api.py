"""A Messages API on loopback that answers by script and keeps every request.

Knows enough of the real API for Claude Code to work against it: streams, errors, token counts.
A server of its own threads, so that tests with and without an event loop use it alike.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

HOLD_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the reply says it cost."""

    input: int = 10
    output: int = 5
    cache_creation: int = 0
    cache_read: int = 0

    def counted(self, output: int) -> dict[str, int]:
        return {
            "input_tokens": self.input,
            "output_tokens": output,
            "cache_creation_input_tokens": self.cache_creation,
            "cache_read_input_tokens": self.cache_read,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the model."""

    text: str = ""
    tools: tuple[ToolUse, ...] = ()
    usage: Usage = field(default_factory=Usage)
    status: int = 200
    error: str = "api_error"
    """The error's type; its message is ``text``. Used when the status is not 200."""
    delay: float = 0.0
    """Seconds before anything is sent."""
    pause: float = 0.0
    """Seconds in the middle of the stream."""
    retry: bool = False
    """Whether an error invites the client to try again."""
    hold: threading.Event | None = None
    """The stream stops in the middle until this is set: an agent kept busy without sleeping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of ``/v1/messages`` as the client sent it."""

    at: float
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Mapping[str, Any]

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def session(self) -> str:
        """The client's session UUID: one conversation."""
        return self.headers.get("x-claude-code-session-id", "")

    @property
    def is_auxiliary(self) -> bool:
        """A question beside the conversation, such as its title: asked without tools."""
        return not self.body.get("tools")

    @property
    def is_subagent(self) -> bool:
        return "x-claude-code-agent-id" in self.headers

    @property
    def is_compaction(self) -> bool:
        return COMPACTION in self.last_user_text

    @property
    def is_main(self) -> bool:
        """A step of a turn of the session itself."""
        return not (self.is_auxiliary or self.is_subagent or self.is_compaction)

    @property
    def last_user_text(self) -> str:
        """All text of the last user message, tool results and reminders included."""
        return "\n".join(_texts(self._last_user_content()))

    @property
    def prompt(self) -> str:
        """What a person (or sm) said last; empty after a tool.

        The last block alone: the client joins a prompt to an earlier one that got no reply.
        """
        said = [str(block["text"]) for block in self._last_user_content() if "text" in block]
        return ([text for text in said if not text.startswith("<system-reminder>")] or [""])[-1]

    def told(self, words: str) -> int:
        """How often the words stand in the conversation, replies and tool results left out."""
        blocks = (_blocks(m["content"]) for m in self.body["messages"] if m["role"] != "assistant")
        texts = (block["text"] for content in blocks for block in content if "text" in block)
        return sum(text.count(words) for text in texts)

    def _last_user_content(self) -> list[dict[str, Any]]:
        # Newer models get `system` messages after the user's own.
        users = [message for message in self.body["messages"] if message["role"] == "user"]
        return _blocks(users[-1]["content"]) if users else []


Script = Callable[[Request], Reply]
DONE = Reply(text="Done.")
COMPACTION = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."
SUMMARY = Reply(text="<analysis>Short.</analysis><summary>A test was run.</summary>")
TITLE = Reply(text='{"title":"A test"}')


def by_prompt(replies: Sequence[tuple[str, Reply]], otherwise: Reply = DONE) -> Script:
    """The first reply whose words are in the prompt; else, and after tools, ``otherwise``."""

    def choose(request: Request) -> Reply:
        if request.is_compaction:
            return SUMMARY
        return next((reply for words, reply in replies if words in request.prompt), otherwise)

    return choose


class AnthropicApi:
    """The server's address, its script and what it was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        """May be replaced while the server runs."""
        self.requests: list[Request] = []
        self.other: list[str] = []
        """Method and path of everything else that was asked for."""
        self.stopping = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def main_requests(self) -> list[Request]:
        return [request for request in list(self.requests) if request.is_main]

    def prompts(self) -> list[str]:
        """Every prompt the model received, one for each request that carried it."""
        return [request.prompt for request in self.main_requests() if request.prompt]

    def count(self, words: str) -> int:
        """How many requests gave the model these words as news: in their last user message."""
        return sum(words in request.last_user_text for request in self.main_requests())

    def times_told(self, words: str) -> int:
        """How often the model was told these words: once is once, however often it was asked.

        A request repeats the conversation so far, and the client repeats a request that failed;
        so each conversation counts by the request that holds the words most often.
        """
        most: dict[str, int] = {}
        for request in self.main_requests():
            most[request.session] = max(most.get(request.session, 0), request.told(words))
        return sum(most.values())


@contextmanager
def anthropic_api(script: Script | Sequence[tuple[str, Reply]] = ()) -> Iterator[AnthropicApi]:
    """Serve on a free loopback port; streams that still hold are cut at the end."""
    api = AnthropicApi(script if callable(script) else by_prompt(script))
    thread = threading.Thread(target=api.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.stopping.set()
        api.server.shutdown()
        api.server.server_close()
        thread.join()


def _handler(api: AnthropicApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            match urlsplit(self.path).path:
                case "/v1/messages":
                    self._message(body)
                case "/v1/messages/count_tokens":
                    self._send_json(200, {"input_tokens": len(body) // 4})
                case _:
                    self._elsewhere()

        def do_GET(self) -> None:
            self._elsewhere()

        def do_HEAD(self) -> None:
            self._elsewhere()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Tests are quiet."""

        def _elsewhere(self) -> None:
            api.other.append(f"{self.command} {self.path}")
            if urlsplit(self.path).path in ("/", "/api/hello"):
                self._send_json(200, {"message": "hello"})
            else:
                self._send_json(404, _error("not_found_error", "There is no such thing here."))

        def _message(self, body: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(at=time.time(), headers=headers, body=json.loads(body))
            api.requests.append(request)
            reply = TITLE if request.is_auxiliary else api.script(request)
            api.stopping.wait(reply.delay)
            if reply.status != 200:
                self._send_json(reply.status, _error(reply.error, reply.text), retry=reply.retry)
            elif request.body.get("stream"):
                self._stream(request, reply)
            else:
                self._send_json(200, _whole(request, reply))

        def _send_json(
            self, status: int, content: Mapping[str, Any], *, retry: bool = False
        ) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("x-should-retry", "true" if retry else "false")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _stream(self, request: Request, reply: Reply) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                for event in _events(request, reply, api.stopping):
                    line = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                    self.wfile.write(line.encode())
            except ConnectionError:
                pass  # The client hung up: that is how an interrupt looks from here.

    return Handler


def _events(request: Request, reply: Reply, stopping: threading.Event) -> Iterator[dict[str, Any]]:
    message = _whole(request, reply)
    blocks = message.pop("content")
    reason = message.pop("stop_reason")
    start: dict[str, Any] = {"content": [], "stop_reason": None, "usage": reply.usage.counted(1)}
    yield {"type": "message_start", "message": {**message, **start}}
    for index, block in enumerate(blocks):
        yield from _block_events(index, block)
        if index == 0:
            _linger(reply, stopping)
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": reply.usage.counted(reply.usage.output),
    }
    yield {"type": "message_stop"}


def _block_events(index: int, block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        opening: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        opening = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": index, "content_block": opening}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _linger(reply: Reply, stopping: threading.Event) -> None:
    stopping.wait(reply.pause)
    deadline = time.monotonic() + HOLD_SECONDS
    while reply.hold and not reply.hold.wait(0.02):
        if stopping.is_set() or time.monotonic() > deadline:
            return


def _whole(request: Request, reply: Reply) -> dict[str, Any]:
    """The message as a client that does not stream gets it."""
    number = f"{time.time_ns():x}"
    text = [{"type": "text", "text": reply.text}] if reply.text else []
    tools = [
        {"type": "tool_use", "id": f"toolu_{number}_{i}", "name": tool.name, "input": tool.input}
        for i, tool in enumerate(reply.tools)
    ]
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [*text, *tools],
        "stop_reason": "tool_use" if tools else "end_turn",
        "stop_sequence": None,
        "usage": reply.usage.counted(reply.usage.output),
    }


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for block in blocks:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "tool_result":
            yield from _texts(_blocks(block.get("content", "")))
