"""Compaction: the context gives way to a summary that leaves almost everything out."""

import time
import uuid

from sm.adapters.agents.demo.conversation import Conversation
from sm.adapters.agents.demo.hooks import first_block
from sm.adapters.agents.demo.stage import Stage
from sm.adapters.agents.demo.transcript import MODEL

_OPENING = (
    "This session is being continued from a previous conversation that ran out of context."
    " The summary below covers the earlier portion of the conversation.\n\nSummary:\n"
)


def compact(talk: Conversation, stage: Stage, *, trigger: str) -> None:
    """PreCompact, SubagentStop, SessionStart, PostCompact, with the records between them."""
    started = time.monotonic()
    before = talk.context.tokens
    if first_block(talk.fire("PreCompact", trigger=trigger, custom_instructions=None)) is not None:
        stage.show("  ⎿  Compaction blocked by a hook")
        return
    summary = f"{talk.context.messages} messages were exchanged; the details are lost."
    _report_summariser(talk, summary)
    talk.context.empty(compacted=True)
    talk.known.clear()
    talk.context.add(_OPENING + summary)
    took = int((time.monotonic() - started) * 1000)
    after = talk.context.tokens
    talk.transcript.boundary(trigger=trigger, before=before, after=after, took_ms=took)
    marks = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    talk.transcript.user(_OPENING + summary, talk.prompt_id, **marks)
    stage.show("✻ Conversation compacted\n")
    replies = talk.fire("SessionStart", source="compact", model=MODEL)
    talk.tell(replies, hook="SessionStart:compact")
    talk.on_reply()
    talk.fire("PostCompact", trigger=trigger, compact_summary=summary)


def _report_summariser(talk: Conversation, summary: str) -> None:
    """Claude Code lets a nameless subagent write the summary; only its end is reported."""
    agent_id = f"a{uuid.uuid4().hex[:16]}"
    talk.fire(
        "SubagentStop",
        agent_id=agent_id,
        agent_type="",
        stop_hook_active=False,
        agent_transcript_path=str(talk.transcript.files / "subagents" / f"agent-{agent_id}.jsonl"),
        last_assistant_message=summary,
        background_tasks=[],
        session_crons=[],
    )
