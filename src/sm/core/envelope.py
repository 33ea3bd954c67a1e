"""What a message looks like to the agent that receives it.

The envelope puts the message id at a fixed place, so that the agent's own report of a prompt
proves which message arrived. It also keeps the text from being read as a command: a prompt never
begins with the text's own ``/`` or ``!``, nor ends with its ``\\`` or ``@name``.
"""

import re

from sm.core.ids import MessageId

_HEAD = re.compile(r"\A\s*\[sm message ([0-9a-f]{12}) from [^\]\n]*\]\n")
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


def message_in(prompt: str) -> MessageId | None:
    """The id of the message a prompt carries, if it is one of ours."""
    found = _HEAD.match(prompt)
    if found is None:
        return None
    message_id = MessageId(found.group(1))
    return message_id if prompt.rstrip().endswith(tail(message_id)) else None


def unwrap(prompt: str) -> str | None:
    """The text between the markers, exactly as it arrived."""
    message_id = message_in(prompt)
    if message_id is None:
        return None
    start = prompt.index("]\n") + 2
    return prompt[start : prompt.rindex("\n" + tail(message_id))]
