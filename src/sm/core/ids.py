"""Names for things, each a type of its own so that they cannot be mixed up."""

from typing import NewType

SessionId = NewType("SessionId", str)
"""Eight hex digits; outlives every process, pane and context of the session."""

MessageId = NewType("MessageId", str)
"""Twelve hex digits, chosen by whoever sends, so that a repeated send is recognised."""

ReminderId = NewType("ReminderId", str)
"""Eight hex digits."""

NoticeId = NewType("NoticeId", str)
"""Of what the person is told: follows from the session and what it is about."""

HandoffId = NewType("HandoffId", str)
"""``HO-YYYYMMDD-HHMMSS-xxxxxxxx``; older ones are twelve hex digits.

Chosen by whoever asks, so that a repeated request is recognised.
"""

RecoveryId = NewType("RecoveryId", str)
"""Eight hex digits, chosen by whoever asks, so that a repeated request is recognised."""

ContextId = NewType("ContextId", str)
"""The agent's own name for one context window (Claude: its session UUID)."""

PromptId = NewType("PromptId", str)
"""The agent's own name for one turn; joins its hooks."""

PaneId = NewType("PaneId", str)
"""tmux's ``%N``: never reused while the server lives. ``%N@SOCKET`` on a server not our own."""

HookId = NewType("HookId", str)
"""Given to a hook call by the stub that carried it; the same call twice has the same id."""
