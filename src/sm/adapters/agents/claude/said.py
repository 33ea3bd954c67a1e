"""What a record of Claude Code's transcript says, and who said it.

A prompt counts as a request if a person typed it (also while the agent was busy) or sm carried it
in its envelope; of a slash command, its name and the words given to it. What the client and its
hooks put there in the same form is none: local commands, notices, reminders, summaries, and what an
interrupt leaves behind.
"""

import re
from dataclasses import dataclass

import msgspec

from sm.adapters.agents.claude.entries import Attachment, Block, Entry, Origin
from sm.core import envelope

_LEAD_IN = re.compile(
    r"(?:\[SYSTEM NOTIFICATION - NOT USER INPUT\].*?(?=<task-notification>))?"
    r"(?:<task-notification>.*?</task-notification>\s*)?(?:<system-reminder>\s*)?"
    r"(?:Stop hook (?:feedback|blocking error from command \"[^\"]*\"):\s*)?",
    re.DOTALL,
)
"""What the client puts before the text of a hook."""
_SENDER = re.compile(r"\[sm message [0-9a-f]{12} from ([^\]\n]*)\]\n")
_OF_THE_CLIENT = re.compile(
    r"\s*(?:<(?:local-command-|command-name|command-message|command-args|bash-input|bash-stdout"
    r"|bash-stderr|task-notification|system-reminder|user-prompt-submit-hook)"
    r"|\[SYSTEM NOTIFICATION|Caveat: The messages below|Stop hook feedback:"
    r"|This session is being continued from a previous conversation)"
)
_COMMAND = re.compile(r"<command-name>\s*(/\S+?)\s*</command-name>")
_WORDS = re.compile(r"<command-args>\s*(\S.*?)\s*</command-args>", re.DOTALL)
_ADJUSTS = frozenset({
    "/add-dir", "/agents", "/clear", "/color", "/compact", "/config", "/effort", "/export", "/fast",
    "/feedback", "/hooks", "/ide", "/login", "/mcp", "/memory", "/model", "/output-style",
    "/permissions", "/plugin", "/rename", "/resume", "/rewind", "/statusline", "/theme",
})  # fmt: skip
"""Commands to the client, that ask nothing of the agent."""
_INTERRUPTED = "[Request interrupted by user"
_ENDED = re.compile(
    r"<task-notification>.*?<task-id>([^<]*)</task-id>(?:\s*<tool-use-id>([^<]*)</tool-use-id>)?"
    r".*?(?:<status>(\w+)</status>|</task-notification>)",
    re.DOTALL,
)
_PERSON, _SM = "you", "sm"
"""What the envelope calls a person at a terminal, and sm itself."""
_STILL_RUNS = ("running", "pending")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    text: str
    sender: str | None = None
    images: int = 0
    is_ours: bool = False
    """No request but sm's own words: a notice, or what a context begins with after a handoff."""


def prompt(entry: Entry) -> Prompt | None:
    """What somebody asked of the agent with this record."""
    if entry.type == "attachment" and entry.attachment is not None:
        return _queued(entry.attachment)
    if entry.type != "user" or entry.message is None or entry.is_compact_summary:
        return None
    content = entry.message.content
    text, images = _plain(content)
    if (carried := _carried(text) or _command(text)) is not None:
        return carried
    if entry.is_meta or not _is_persons(text, images, entry.origin):
        return None
    return Prompt(text=text, images=images)


def is_interrupt(entry: Entry) -> bool:
    content = entry.message.content if entry.message is not None else ""
    return _plain(content)[0].startswith(_INTERRUPTED)


def _queued(attached: Attachment) -> Prompt | None:
    """Given to the agent in the middle of a turn, or in answer to its end."""
    if attached.type == "hook_additional_context":
        return next(filter(None, map(_carried, _contexts(attached))), None)
    if attached.type != "queued_command":
        return None
    text, images = _plain(attached.prompt)
    if (carried := _carried(text) or _command(text)) is not None:
        return carried
    if attached.is_meta or attached.command_mode not in ("prompt", ""):
        return None
    return Prompt(text=text, images=images) if _is_persons(text, images, attached.origin) else None


def _contexts(attached: Attachment) -> list[str]:
    """What hooks gave the model; only what stands in an envelope of ours is anybody's request."""
    try:
        found = msgspec.json.decode(attached.content, type=str | list[str])
    except msgspec.DecodeError:
        return []
    return [found] if isinstance(found, str) else found


def _carried(text: str) -> Prompt | None:
    """What sm's envelope carries, whatever the client put around it."""
    if "message " not in text:
        return None
    lead_in = _LEAD_IN.match(text)
    own = text[lead_in.end() :] if lead_in else text
    if envelope.message_in(own) is None:
        return None
    sender = _SENDER.match(own.lstrip())
    if sender is None:
        return Prompt(text=own, sender=_SM, is_ours=True)
    inside = envelope.unwrap(own)
    return Prompt(
        text=own if inside is None else inside,
        sender=None if sender[1] == _PERSON else sender[1],
        is_ours=sender[1] == _SM,
    )


def _command(text: str) -> Prompt | None:
    """What a person said with a command of theirs; what the command stands for is the client's."""
    if not text.startswith("<command-"):
        return None
    name, words = _COMMAND.search(text), _WORDS.search(text)
    if name is None or words is None or name[1] in _ADJUSTS:
        return None
    return Prompt(text=f"{name[1]} {words[1]}")


def is_typed(text: str) -> bool:
    """Whether a text in the client's queue is a person's own; sm brings its messages itself."""
    return _is_persons(text, 0, None) and _carried(text) is None


def _is_persons(text: str, images: int, origin: Origin | None) -> bool:
    if origin is not None and origin.kind != "human":
        return False
    is_clients = _OF_THE_CLIENT.match(text) is not None or text.startswith(_INTERRUPTED)
    return not is_clients and bool(text or images)


def _plain(content: str | list[Block]) -> tuple[str, int]:
    """Text and number of pictures; nothing for what tools gave back."""
    if isinstance(content, str):
        return content, 0
    if any(block.type == "tool_result" for block in content):
        return "", 0
    texts = [block.text for block in content if block.type == "text" and block.text]
    # The client adds reminders of its own as further blocks.
    own = [text for text in texts if not text.startswith("<system-reminder>")]
    return "\n".join(own), sum(block.type == "image" for block in content)


def ended_tasks(entry: Entry) -> list[tuple[str, str]]:
    """Tasks in the background of which this record says that they ended: task and call."""
    if entry.attachment is not None:
        content = entry.attachment.prompt
    elif entry.message is not None:
        content = entry.message.content
    else:
        return []
    texts = [content] if isinstance(content, str) else [block.text for block in content]
    found = (match for text in texts for match in _ENDED.finditer(text))
    return [(m[1], m[2] or "") for m in found if m[3] not in _STILL_RUNS]
