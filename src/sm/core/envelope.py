"""What a message looks like to the agent that receives it.

The envelope puts the message id at a fixed place, so that the agent's own report of a prompt
proves which message arrived. It also keeps the text from being read as a command: a prompt never
begins with the text's own ``/`` or ``!``, nor ends with its ``\\`` or ``@name``.
"""

import re
from typing import TYPE_CHECKING

from sm.core.ids import MessageId

if TYPE_CHECKING:
    # The demo agent reads envelopes too, and starts without dataclasses.
    from sm.core.message import Message

_HEAD = re.compile(r"\[sm message ([0-9a-f]{12}) from [^\]\n]*\]\n")
_HANDOFF = r"(?:HO-\d{8}-\d{6}-[0-9a-f]{8}|[0-9a-f]{12})"
_LAST_LINES = rf"\(handoff {_HANDOFF}\)\.\n\[end of message ([0-9a-f]{{12}})\]"
# By its fixed words: a prompt that merely begins with "Read" and quotes a message is not it.
_FIRST = re.compile(
    rf"(?:Read .*? and continue|Continue) from where you left off\..*?{_LAST_LINES}", re.DOTALL
)
_FIRSTS_END = re.compile(_LAST_LINES)
# C0 and C1 controls but LF: an ESC[201~ in the text would end a bracketed paste early.
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
TAB_WIDTH = 4


def sanitise(text: str) -> str:
    """The text as it will arrive: line ends are LF, tabs are spaces, controls are gone."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " " * TAB_WIDTH)
    return _CONTROLS.sub("", text)


def head(message_id: MessageId, sender_name: str) -> str:
    return f"[sm message {message_id} from {sender_name}]"


def tail(message_id: MessageId) -> str:
    return f"[end of message {message_id}]"


def wrap(message_id: MessageId, sender_name: str, text: str) -> str:
    """The prompt that carries one message."""
    return f"{head(message_id, sender_name)}\n{sanitise(text)}\n{tail(message_id)}"


def carry(message: "Message") -> str:
    """The prompt that carries one message; the first one of a context begins with its own words."""
    if message.handoff is None:
        return wrap(message.id, message.sender_name, message.text)
    return f"{sanitise(message.text)}\n{tail(message.id)}"


def length(message: "Message") -> int:
    """How long the envelope is, in UTF-16 units."""
    return len(carry(message).encode("utf-16-le", "surrogatepass")) // 2


def message_in(prompt: str) -> MessageId | None:
    """The id of the message a prompt carries, if it begins with one of ours.

    A person may have typed behind it in the last moment: the message has arrived all the same.
    """
    found = _HEAD.match(prompt.lstrip()) or _FIRST.match(prompt.lstrip())
    return None if found is None else MessageId(found.group(1))


def quoted_in(prompt: str) -> tuple[MessageId, ...]:
    """Every message that stands whole somewhere in a prompt: carried, or only quoted."""
    whole = (*_HEAD.finditer(prompt), *_FIRSTS_END.finditer(prompt))
    ids = dict.fromkeys(MessageId(found.group(1)) for found in whole)
    return tuple(message_id for message_id in ids if tail(message_id) in prompt)


def unwrap(prompt: str) -> str | None:
    """The text between the markers, exactly as it arrived; None if a marker is missing."""
    message_id, found = message_in(prompt), _HEAD.search(prompt)
    if message_id is None or found is None:
        return None
    text, end, _ = prompt[found.end() :].rpartition("\n" + tail(message_id))
    return text if end else None
