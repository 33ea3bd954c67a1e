"""A session as it may be shown."""

from dataclasses import replace

from sm.core.crash import Cause, Crash, Recovery
from sm.core.ids import RecoveryId
from sm.core.state import Exit, Sighting, Source
from sm.engine.shown import agent_shown, without_secrets, words_shown
from sm.redaction.redactor import Redactor
from tests.core.samples import IDLE, NOON


def test_whatever_is_quoted_is_without_secrets() -> None:
    """Of a session without quotations nothing changes."""
    said = "the key is hunter2"
    crash = Crash(at=NOON, cause=Cause.LIMIT, words=said)
    recovery = Recovery(id=RecoveryId("r1"), crash=crash, by="you", asked_at=NOON)
    session = replace(
        IDLE,
        agent="tool --key hunter2",
        arguments=("--key", "hunter2"),
        last_words=said,
        dialog=said,
        verdict=Sighting(source=Source.HOOK, says=said, at=NOON),
        sightings=(Sighting(source=Source.SCREEN, says=said, at=NOON),),
        exit=Exit(status=1, signal=None, intended=False, evidence=said),
        crash=crash,
        recoveries=(recovery.noted("started", NOON, said),),
    )

    shown = without_secrets(session, lambda text: text.replace("hunter2", "[redacted]"))

    assert "hunter2" in repr(session)
    assert "hunter2" not in repr(shown)
    assert repr(shown).count("[redacted]") == 10
    assert without_secrets(IDLE, str) == IDLE


def test_a_command_line_is_shown_without_secrets() -> None:
    """An option tells what its value is; every word stays a word of its own."""
    words = ("run", "--password", "hG7-kQ2.xV9w", "--name", "my fixes", "PASSWORD=vN8-mW3.zX1y")

    shown = words_shown(words, Redactor().redact)

    assert shown[:5] == ("run", "--password", "[redacted:command-password]", "--name", "my fixes")
    assert shown[5:] == ("PASSWORD=[redacted:password]",)


def test_an_agents_name_is_looked_through_only_if_it_is_a_command_line() -> None:
    redact = Redactor().redact

    assert agent_shown("tool --password hG7-kQ2.xV9w", redact).startswith("tool --password [redac")
    assert agent_shown("claude", lambda _: "looked at") == "claude"
