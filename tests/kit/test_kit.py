"""The kit itself: the real client, in a real tmux, against the fake API."""

import http.client
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.anthropic_api import AnthropicApi, Reply, ToolUse, Usage, anthropic_api, by_prompt
from tests.kit.claude import claude_home, require_claude, start_claude, submit
from tests.kit.sm import json_lines
from tests.kit.tmux import (
    NeverHappenedError,
    Tmux,
    private_tmux,
    socket_path,
    wait_until,
    wait_until_async,
)

ECHO = ToolUse(name="Bash", input={"command": "echo forty-$((40 + 2))"})


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    with private_tmux() as server:
        yield server


@pytest.fixture
def api() -> Iterator[AnthropicApi]:
    with anthropic_api() as served:
        yield served


def ask(api: AnthropicApi, *messages: object, session: str = "s1", **more: object) -> str:
    """Post as the client does; what came back, whole."""
    body = {"model": "m", "tools": [{"name": "Bash"}], "messages": messages, **more}
    return call(api, "POST", "/v1/messages?beta=true", body, session=session)[1]


def call(
    api: AnthropicApi, method: str, path: str, body: object = None, *, session: str = "s1"
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", api.server.server_port, timeout=10)
    headers = {"X-Claude-Code-Session-Id": session}
    connection.request(method, path, json.dumps(body) if body else None, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def user(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


@pytest.mark.claude
def test_the_real_client_takes_a_prompt_and_shows_the_reply(
    tmux: Tmux, api: AnthropicApi, tmp_path: Path
) -> None:
    """One prompt in the box is one request with that prompt, and its reply is on the screen."""
    require_claude()
    api.script = by_prompt(
        [("the pond?", Reply(text="Let me look.", tools=(ECHO,)))],
        otherwise=Reply(text="The pond is deep."),
    )
    pane = start_claude(tmux, claude_home(tmp_path, api.url))

    submit(tmux, pane, "how deep is the pond?")

    wait_until(lambda: "pond is deep" in tmux.screen(pane), 20, seen=lambda: tmux.screen(pane))
    first, second = api.main_requests()
    assert (first.prompt, second.prompt) == ("how deep is the pond?", "")
    assert "forty-42" in second.last_user_text
    assert api.prompts() == ["how deep is the pond?"]
    assert (api.count("the pond?"), api.times_told("the pond?")) == (1, 1)
    assert api.other == []


def test_a_stream_says_the_same_as_a_whole_message(api: AnthropicApi) -> None:
    """Text, tools and usage reach a client in either form."""
    usage = Usage(input=7, output=8, cache_creation=9, cache_read=10)
    api.script = lambda _request: Reply(text="Hi.", tools=(ECHO,), usage=usage)

    whole = json.loads(ask(api, user("hello")))
    stream = ask(api, user("hello"), stream=True)

    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert [event["type"] for event in events] == [
        "message_start",
        *block,
        *block,
        "message_delta",
        "message_stop",
    ]
    assert [part["type"] for part in whole["content"]] == ["text", "tool_use"]
    assert json.loads(events[5]["delta"]["partial_json"]) == whole["content"][1]["input"]
    assert events[-2]["usage"] == whole["usage"]
    assert whole["usage"] == {
        "input_tokens": 7,
        "output_tokens": 8,
        "cache_creation_input_tokens": 9,
        "cache_read_input_tokens": 10,
    }


def test_a_held_reply_ends_when_the_test_says_so(api: AnthropicApi) -> None:
    """A test keeps an agent busy for exactly as long as it needs."""
    hold = threading.Event()
    api.script = lambda _request: Reply(text="Long.", hold=hold)
    done = threading.Event()

    def converse() -> None:
        ask(api, user("hello"), stream=True)
        done.set()

    threading.Thread(target=converse).start()
    wait_until(lambda: api.requests)
    assert not done.wait(0.2)
    hold.set()
    assert done.wait(5)


def test_an_error_is_told_as_the_real_api_tells_it(api: AnthropicApi) -> None:
    """Its status, its type and its message."""
    api.script = lambda _request: Reply(status=529, error="overloaded_error", text="Too busy.")

    assert call(api, "POST", "/v1/messages", {"tools": [1], "messages": [user("hello")]}) == (
        529,
        '{"type": "error", "error": {"type": "overloaded_error", "message": "Too busy."}}',
    )


def test_other_questions_are_answered_and_noted(api: AnthropicApi) -> None:
    """A client that looks around finds a server, and the test sees what it looked for."""
    assert call(api, "POST", "/v1/messages/count_tokens", {"messages": []})[0] == 200
    assert call(api, "HEAD", "/") == (200, "")
    assert call(api, "GET", "/v1/models")[0] == 404

    assert api.other == ["HEAD /", "GET /v1/models"]


def test_what_the_model_was_told_is_counted_once(api: AnthropicApi) -> None:
    """Repeated history and repeated requests are not repeated messages; titles do not count."""
    said = {"role": "assistant", "content": "[sm 1] ok"}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "[sm 1]"}
    ask(api, user("[sm 1] hello"), tools=[])
    ask(api, user("[sm 1] hello", "<system-reminder>x"))
    ask(api, user("[sm 1] hello"), said, {"role": "user", "content": [result]})
    assert (api.times_told("[sm 1]"), api.count("[sm 1]")) == (1, 2)

    ask(api, user("[sm 1] hello"), said, user("[sm 1] hello"), {"role": "system", "content": "x"})
    assert api.times_told("[sm 1]") == 2

    ask(api, user("[sm 1] hello"), session="s2")
    assert api.times_told("[sm 1]") == 3
    assert api.prompts() == ["[sm 1] hello"] * 3


async def test_waiting_ends_with_what_was_there_in_its_place() -> None:
    """A wait that fails says what the test saw."""
    with pytest.raises(NeverHappenedError, match="an empty screen"):
        wait_until(lambda: False, 0.1, seen=lambda: "an empty screen")
    with pytest.raises(NeverHappenedError, match="an empty screen"):
        await wait_until_async(lambda: False, 0.1, seen=lambda: "an empty screen")

    async def ready() -> bool:
        return True

    await wait_until_async(ready)


def test_a_prompt_may_hold_any_character(tmp_path: Path) -> None:
    """Also those that end a line in a text, but not in a file of JSON lines."""
    file = tmp_path / "received.jsonl"
    assert json_lines(file) == []
    file.write_text('{"prompt": "one\u2028two"}\n{"prompt": "three\x85"}\n')

    assert [given["prompt"] for given in json_lines(file)] == ["one\u2028two", "three\x85"]


def test_a_private_tmux_leaves_nothing_behind(tmp_path: Path) -> None:
    """The server, its programs and its socket end with the test."""
    with private_tmux() as tmux:
        pane = tmux.start(["/bin/cat"], environment={"TERM": "xterm"}, cwd=tmp_path)
        tmux.paste(pane, "a;\nb;")
        wait_until(lambda: "a;\nb;" in tmux.screen(pane), seen=lambda: tmux.screen(pane))
        pid = tmux.pid(pane)
        assert socket_path(tmux.name).is_socket()

    assert not socket_path(tmux.name).exists()
    wait_until(lambda: process_state(pid) in ("", "Z"), seen=lambda: process_state(pid))


def process_state(pid: int) -> str:
    line = ["ps", "-o", "stat=", "-p", str(pid)]
    return subprocess.run(line, capture_output=True, text=True).stdout[:1]
