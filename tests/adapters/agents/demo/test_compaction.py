"""Compaction of the demo agent's context: what is reported, what is kept, what is lost."""

from pathlib import Path

from sm.adapters.agents.demo.compaction import compact

from .test_conversation import begin, events, given, lines_of, noted
from .test_stage import listening

SUMMARY = "2 messages were exchanged; the details are lost."


def test_the_hooks_of_a_compaction_come_in_claude_codes_order(tmp_path: Path) -> None:
    """They are told who asked for it, and at the end what is left."""
    talk = begin(tmp_path, "--session-id", "s1")
    talk.give("one", via="prompt")
    talk.give("two", via="prompt")
    with listening() as audience:
        compact(talk, audience.stage, trigger="auto")

        assert audience.shown() == ["✻ Conversation compacted\n"]
    before, summariser, start, after = noted(tmp_path)
    assert events(tmp_path) == ["PreCompact", "SubagentStop", "SessionStart", "PostCompact"]
    assert (before["trigger"], start["source"], after["trigger"]) == ("auto", "compact", "auto")
    assert (summariser["agent_type"], summariser["last_assistant_message"]) == ("", SUMMARY)
    assert after["compact_summary"] == SUMMARY
    assert talk.session_id == "s1"


def test_the_context_gives_way_to_a_summary(tmp_path: Path) -> None:
    """The model keeps one short text; the record says what was dropped and goes on anew."""
    talk = begin(tmp_path)
    talk.begin_prompt()
    talk.give("x" * 100_000, via="prompt")
    talk.give("more", via="prompt")
    with listening() as audience:
        compact(talk, audience.stage, trigger="manual")

    _, boundary, summary = lines_of(talk.transcript.path)
    dropped = boundary["compactMetadata"]
    assert dropped["preTokens"] == 26_001
    assert dropped["postTokens"] == talk.context.tokens < 1100
    assert talk.context.messages == 1
    assert summary["parentUuid"] == boundary["uuid"]
    assert summary["isCompactSummary"]
    assert summary["promptId"] == talk.prompt_id
    assert summary["message"]["content"].endswith(f"Summary:\n{SUMMARY}")


def test_a_hook_can_forbid_a_compaction(tmp_path: Path) -> None:
    """Nothing is lost, nothing is recorded, and the person is told."""
    talk = begin(tmp_path, replies={"PreCompact": "exit 2"})
    talk.give("x" * 400, via="prompt")
    with listening() as audience:
        compact(talk, audience.stage, trigger="auto")

        assert audience.shown() == ["  ⎿  Compaction blocked by a hook"]
    assert events(tmp_path) == ["PreCompact"]
    assert talk.context.tokens == 1100
    assert not talk.transcript.path.exists()


def test_what_a_hook_says_after_a_compaction_is_not_lost_in_it(tmp_path: Path) -> None:
    """A SessionStart hook tells the model again what it must not forget."""
    talk = begin(tmp_path, replies={"SessionStart": "echo you are ada"})
    with listening() as audience:
        compact(talk, audience.stage, trigger="auto")

    assert given(tmp_path) == [("you are ada", "hook SessionStart:compact")]
    assert talk.context.messages == 2
