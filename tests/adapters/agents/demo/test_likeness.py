"""The demo agent's reports, field by field, beside samples of the real client's."""

import json
from pathlib import Path
from typing import Any

from .rig import Demo

SAMPLES = Path(__file__).parents[1] / "claude"
PLAYED = (
    ("%tool true\n%tool false\n%agent true\n%background sleep 0\n%usage 90000", "Stop"),
    ("/compact", "PostCompact"),
    ("%fail unknown", "StopFailure"),
    ("/clear", "SessionEnd"),
    ("%ask true", "Notification"),
)
"""What is typed, and the first report that proves that it was done."""
VARYING = {"prompt_id", "agent_id", "agent_type"}
"""Told where there is a prompt, and where a sub-agent acts: the samples do not have every case."""


def test_every_hook_has_the_fields_of_the_real_clients(demo: Demo) -> None:
    """For each event there is a sample with exactly the same fields, and no other tells more."""
    demo.watch()
    demo.start("--dialog-notice", "0", "--idle-notice", "3600")
    for text, proof in PLAYED:
        demo.prompt(text)
        demo.until_event(proof)
        demo.until(lambda: demo.status()["status"] != "busy")
        if text.startswith("%ask"):
            demo.press("Enter")
            demo.until_event("Stop", 2)
        demo.settled()
    demo.ring("look here")
    demo.until(lambda: "look here" in demo.received())
    demo.settled()
    demo.submit("/exit")
    demo.until_dead()

    samples = samples_by_event()
    hooks = demo.hooks()
    assert {h["hook_event_name"] for h in hooks} >= samples.keys() - NOT_PLAYED
    told = [(h["hook_event_name"], set(h) - VARYING) for h in hooks]
    assert [(event, sorted(t)) for event, t in told if t not in samples[event]] == []


NOT_PLAYED = {
    *("ConfigChange", "CwdChanged", "InstructionsLoaded", "MessageDisplay", "TaskCreated"),
    *("TaskCompleted", "UserPromptExpansion"),
}
"""Hooks of things the demo agent does not have."""


def samples_by_event() -> dict[str, list[set[str]]]:
    found: dict[str, list[set[str]]] = {}
    samples: dict[str, dict[str, Any]] = json.loads((SAMPLES / "hooks.json").read_text())
    for sample in samples.values():
        found.setdefault(sample["hook_event_name"], []).append(set(sample) - VARYING)
    return found
