"""A session as it may be shown."""

from dataclasses import replace

from sm.core.crash import Cause, Crash, Recovery
from sm.core.ids import RecoveryId
from sm.core.state import Exit, Sighting, Source
from sm.engine.shown import without_secrets
from tests.core.samples import IDLE, NOON


def test_whatever_is_quoted_is_without_secrets() -> None:
    """Of a session without quotations nothing changes."""
    said = "the key is hunter2"
    crash = Crash(at=NOON, cause=Cause.LIMIT, words=said)
    recovery = Recovery(id=RecoveryId("r1"), crash=crash, by="you", asked_at=NOON)
    session = replace(
        IDLE,
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
    assert repr(shown).count("[redacted]") == 8
    assert without_secrets(IDLE, str) == IDLE
