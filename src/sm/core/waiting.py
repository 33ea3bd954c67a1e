"""Which messages wait to be given to an agent, and which of them comes next.

How and when one is given is not known here.
"""

from sm.core.message import Message, MessageState, queue_order
from sm.core.state import Session


def is_overdue(message: Message, now: float) -> bool:
    return message.expires_at is not None and message.expires_at <= now


def is_waiting(session: Session, message: Message) -> bool:
    """Whether nothing of the message has been given to the agent yet."""
    in_hand = session.attempt is not None and session.attempt.message == message.id
    return message.state is MessageState.QUEUED and not in_hand


def waiting(session: Session, now: float) -> list[Message]:
    """Those that may be given now, first one first: in a handoff, only the prompt it ends with; in
    a recovery, only what the agent is told first."""
    found = (m for m in session.messages if is_waiting(session, m) and not is_overdue(m, now))
    handoff, recovery = session.handoff, session.recovery
    # While a recovery is open, no handoff has come further than its request.
    if recovery is not None:
        found = (m for m in found if m.id == recovery.message)
    elif handoff is not None:
        found = (m for m in found if m.id == handoff.message)
    return sorted(found, key=queue_order)
