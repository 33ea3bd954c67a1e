"""Whose words stand in a record: a person's, a session's, or the client's own."""

from typing import Any

import msgspec
import pytest
from tests.adapters.agents.claude.telling import asks, entry, gives, line, queues

from sm.adapters.agents.claude import said
from sm.adapters.agents.claude.entries import Entry
from sm.adapters.agents.claude.said import Prompt
from sm.core import envelope
from sm.core.ids import MessageId

MESSAGE = MessageId("0123456789ab")
FROM_BEA = envelope.wrap(MESSAGE, "bea", "use the other one")
REVIEW = (
    "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
    "<command-args>only the tax part,\nplease</command-args>"
)
NOTIFIED = (
    "<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>A</tool-use-id>\n"
    "<status>completed</status>\n<summary>done</summary>\n</task-notification>"
)


def decoded(record: dict[str, Any]) -> Entry:
    return msgspec.json.decode(line(record), type=Entry)


@pytest.mark.parametrize(
    "record",
    [
        asks("<local-command-caveat>Caveat: …</local-command-caveat>", isMeta=True),
        asks("<command-name>/clear</command-name>"),
        asks("<command-name>/model</command-name>\n<command-args>opus</command-args>"),
        asks("<command-name>/review</command-name>\n<command-args></command-args>"),
        asks("<local-command-stdout></local-command-stdout>"),
        asks("<bash-input>ls</bash-input>"),
        asks("Continue from where you left off.", isMeta=True),
        asks("Stop hook feedback:\ngo on", isMeta=True),
        asks("This session is being continued from a previous …", isCompactSummary=True),
        asks("[Request interrupted by user for tool use]"),
        asks(NOTIFIED, origin={"kind": "task-notification"}),
        queues(NOTIFIED, commandMode="task-notification"),
        queues("not a person's", isMeta=True),
        entry("attachment", attachment={"type": "hook_additional_context", "content": ["x"]}),
        gives("what a tool printed"),
        asks(""),
    ],
)
def test_what_the_client_says_itself_is_no_request(record: dict[str, Any]) -> None:
    assert said.prompt(decoded(record)) is None


@pytest.mark.parametrize(
    ("record", "prompt"),
    [
        (asks("port it"), Prompt(text="port it")),
        (asks("port it", origin=None), Prompt(text="port it")),
        (queues("also this"), Prompt(text="also this")),
        (asks(REVIEW), Prompt(text="/review only the tax part,\nplease")),
        (queues(REVIEW), Prompt(text="/review only the tax part,\nplease")),
        (asks([{"type": "text", "text": "see"}, {"type": "image"}]), Prompt(text="see", images=1)),
        (
            asks([{"type": "text", "text": "go"}, {"type": "text", "text": "<system-reminder>"}]),
            Prompt(text="go"),
        ),
        (asks(FROM_BEA), Prompt(text="use the other one", sender="bea")),
        (
            asks(f"Stop hook feedback:\n{FROM_BEA}", isMeta=True),
            Prompt(text="use the other one", sender="bea"),
        ),
        (queues(FROM_BEA), Prompt(text="use the other one", sender="bea")),
        (asks(envelope.wrap(MESSAGE, "you", "port it")), Prompt(text="port it")),
        (
            asks(envelope.wrap(MESSAGE, "sm", "it fills")),
            Prompt(text="it fills", sender="sm", is_ours=True),
        ),
    ],
)
def test_requests_are_told_word_for_word_with_their_sender(
    record: dict[str, Any], prompt: Prompt
) -> None:
    assert said.prompt(decoded(record)) == prompt


def test_the_first_prompt_after_a_handoff_is_our_own() -> None:
    first = (
        "Read /x/doc.md and continue from where you left off.\n(handoff 0123456789ab).\n"
        "[end of message 0123456789ab]"
    )

    prompt = said.prompt(decoded(asks(first)))

    assert prompt is not None
    assert prompt.is_ours


def test_a_notice_says_which_task_ended() -> None:
    assert said.ended_tasks(decoded(queues(NOTIFIED))) == [("b1", "A")]
    running = NOTIFIED.replace("completed", "running")
    assert said.ended_tasks(decoded(asks(running))) == []
    assert said.ended_tasks(decoded(entry("system"))) == []


def test_an_interrupt_is_recognised() -> None:
    assert said.is_interrupt(decoded(asks("[Request interrupted by user]")))
    assert not said.is_interrupt(decoded(asks("port it")))


@pytest.mark.parametrize("content", [[FROM_BEA], FROM_BEA, ["<reminder>", FROM_BEA]])
def test_what_came_beside_a_tools_result_or_at_a_turns_end_is_a_request(content: object) -> None:
    """The gentlest routes leave no prompt of their own, and a successor must know of it."""
    given = {"type": "hook_additional_context", "content": content}

    found = said.prompt(decoded(entry("attachment", attachment=given)))

    assert found == Prompt(text="use the other one", sender="bea")
