"""What a context wrote and showed is kept before it is left; what cannot be had is said."""

import asyncio
import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sm.core.effects import CaptureArtifacts
from sm.core.events import ArtifactsCaptured
from sm.core.exchange import Deed
from sm.core.ids import HandoffId, HookId, SessionId
from sm.core.inline import LIMIT
from sm.core.journal import Recorded
from sm.core.passage import AUTO, DocumentError, Handoff
from sm.core.reports import Hook, ToolEnded
from sm.core.state import Session
from sm.core.story import Request, Story
from sm.engine.ports import Dialect
from tests.core.samples import ADA, CAPTURING, CONTEXT, HANDOFF, passing
from tests.engine.agent import Agent
from tests.engine.dialects import ScriptedDialect, ScriptedDialects
from tests.engine.rig import archivist_of
from tests.engine.timelapse import LoopClock
from tests.engine.world import World

CAPTURE = CaptureArtifacts(handoff=HANDOFF)


class Study:
    """ada at her turn's end, her document on the real disk, and the archivist beside her."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world = World(LoopClock().now)
        self.agent: Agent = self.world.add(ADA)
        self.agent.box = "the last thing ada showed"
        self.document = folder / "handoff.md"
        self.document.write_text("as asked for\n")
        self.archivist = archivist_of(self.world, folder)
        asked = replace(passing(CAPTURING), source=str(self.document), tasks=("npm test",))
        self.session: Session = replace(
            CAPTURING, cwd=str(folder), pane=self.agent.pane, handoffs=(asked,)
        )

    async def capture(self) -> ArtifactsCaptured:
        outcome = await self.archivist.capture(self.session, CAPTURE)
        assert isinstance(outcome, ArtifactsCaptured)
        return outcome


@pytest.fixture
async def study(tmp_path: Path) -> Study:
    study = Study(tmp_path)
    await study.archivist.keep(study.session, HANDOFF, study.document)
    return study


async def test_a_document_is_copied_when_it_is_asked_for(study: Study) -> None:
    kept = await study.archivist.keep(study.session, HandoffId("b" * 12), study.document)

    assert Path(kept.path).read_text() == "as asked for\n"


async def test_a_document_that_cannot_be_taken_is_refused_with_words(study: Study) -> None:
    study.document.write_text("x" * 1001)

    with pytest.raises(DocumentError, match=r"handoff\.md"):
        await study.archivist.keep(study.session, HANDOFF, study.document)


async def test_everything_is_captured_at_the_turns_end(study: Study) -> None:
    """The document as it is by then, what the terminal holds, and where the rest is."""
    study.document.write_text("with a last line\n")

    captured = await study.capture()

    assert (captured.handoff, captured.evidence.split(";")[0]) == (
        HANDOFF,
        "the document as it is now, what the terminal showed",
    )
    assert captured.document is not None
    assert captured.dump is not None
    assert captured.artifacts is not None
    assert Path(captured.document).read_text() == "with a last line\n"
    assert Path(captured.dump).read_text() == "the last thing ada showed\n"
    record = json.loads(Path(captured.artifacts).read_text())
    assert (record["handoff"], record["session"]["id"]) == (HANDOFF, ADA)


async def test_a_document_that_is_gone_by_then_is_kept_as_it_was(study: Study) -> None:
    study.document.unlink()

    captured = await study.capture()

    assert captured.document is not None
    assert captured.evidence.startswith("the document as it was asked with")
    kept = json.loads(Path(captured.artifacts or "").read_text())
    assert kept["document"] is not None


async def test_a_terminal_that_does_not_answer_fails_nothing(study: Study) -> None:
    study.world.silent = True

    captured = await study.capture()

    assert (captured.dump, captured.artifacts is not None) == (None, True)
    assert "no dump: no answer" in captured.evidence


async def test_a_pane_that_is_gone_is_said(study: Study) -> None:
    study.agent.gone = True
    assert "no dump: the pane is gone" in (await study.capture()).evidence

    study.session = replace(study.session, pane=None)
    assert "no dump: there is no pane" in (await study.capture()).evidence


async def test_a_look_without_end_holds_nothing_up_for_long(study: Study) -> None:
    """The copy that was made when it was asked for is there."""
    study.agent.stuck = asyncio.Event()

    captured = await study.capture()

    assert (captured.document, captured.dump) == (None, None)
    assert captured.evidence == "nothing: it took longer than 15 s"


@dataclass(slots=True)
class Telling(ScriptedDialect):
    """An agent whose transcript holds one request: all of its text."""

    def read_story(self, transcript_path: Path) -> Story | None:
        return Story(requests=(Request(text=transcript_path.read_text(), at=1.0),))


class TellingDialects(ScriptedDialects):
    def named(self, agent: str) -> Dialect:
        return Telling(self.world, agent, proves=True)


@pytest.fixture
def alone(tmp_path: Path) -> Study:
    """ada's handoff is sm's own, and she left a transcript."""
    study = Study(tmp_path)
    transcript = tmp_path / "ada.jsonl"
    transcript.write_text("Mind the « quotes ».")
    study.archivist = archivist_of(
        study.world, tmp_path, largest=50_000, dialects=TellingDialects(study.world)
    )
    asked = replace(passing(CAPTURING), kind=AUTO, source="the record", document="", log="")
    context = replace(study.session.context, transcript=str(transcript))
    study.session = replace(study.session, handoffs=(asked,), context=context)
    return study


def loaded_by(study: Study, document: str) -> Handoff:
    return replace(passing(study.session), document=document)


async def test_where_the_agent_wrote_nothing_sm_writes_the_document(alone: Study) -> None:
    """With what was asked, word for word; its essence lies beside it."""
    captured = await alone.capture()

    assert captured.document is not None
    document = Path(captured.document)
    assert "Mind the « quotes »." in document.read_text()
    assert f"<!-- HANDOFF-ID: {HANDOFF} -->" in document.read_text()
    assert "Mind the « quotes »." in (document.parent / "essence.md").read_text()
    assert captured.evidence.startswith("a document from the record, what the terminal showed")
    assert captured.log == "/home/sessions/ada/raw.log"


async def test_its_context_is_told_what_the_document_says(alone: Study) -> None:
    captured = await alone.capture()

    told = await alone.archivist.loaded(alone.session, loaded_by(alone, captured.document or ""))

    assert told.startswith(f"=== HANDOFF LOADED (ID: {HANDOFF}) ===\nChannel: ")
    assert "Type: auto\n" in told
    assert "Mind the « quotes »." in told


async def test_of_a_document_that_is_gone_nothing_is_told(alone: Study) -> None:
    assert await alone.archivist.loaded(alone.session, loaded_by(alone, "/gone/document.md")) == ""


async def test_without_a_transcript_there_is_still_a_document(alone: Study) -> None:
    """It says what else is known."""
    for transcript in (None, str(alone.folder / "gone.jsonl")):
        context = replace(alone.session.context, transcript=transcript)
        alone.session = replace(alone.session, context=context)

        captured = await alone.capture()

        assert captured.document is not None
        assert "# Automatic handoff: ada" in Path(captured.document).read_text()


async def test_a_request_too_long_for_the_document_lies_beside_it(alone: Study) -> None:
    long = "word " * 10_000
    Path(alone.session.context.transcript or "").write_text(long)

    captured = await alone.capture()

    beside = [
        f for f in Path(captured.document or "").parent.iterdir() if f.suffix in (".md", ".txt")
    ]
    assert any(long.strip() in file.read_text() for file in beside)
    told = await alone.archivist.loaded(alone.session, loaded_by(alone, captured.document or ""))
    assert len(told) <= LIMIT


async def test_a_disk_that_takes_nothing_leaves_no_document(alone: Study) -> None:
    (alone.folder / ADA).write_text("in the way")

    captured = await alone.capture()

    assert captured.document is None
    assert captured.evidence.startswith("no document")


async def test_captured_again_after_a_crash_it_is_the_same(study: Study) -> None:
    assert await study.capture() == await study.capture()


async def test_for_a_handoff_that_is_over_nothing_is_written(study: Study) -> None:
    """And its outcome says whose it is: another one may wait for its own by now."""
    other = replace(passing(study.session), id=HandoffId("b" * 12))
    for handoffs in ((), (other,)):
        study.session = replace(study.session, handoffs=handoffs)

        captured = await study.capture()

        assert (captured.handoff, captured.artifacts) == (HANDOFF, None)
    assert not (study.folder / ADA / "handoffs" / HANDOFF / "artifacts.json").exists()


async def test_what_the_record_does_not_know_yet_is_in_the_document(alone: Study) -> None:
    """The turn ended a moment ago, and its last command is not written down."""
    hook = Hook(id=HookId("h"), name="PostToolUse", at=9e9, context=CONTEXT, prompt=None)
    ended = ToolEnded(hook=hook, tool="Bash", failed=False, target="make step-7", deed=Deed.COMMAND)

    async def events(session: SessionId, _limit: int) -> list[Recorded]:
        return [Recorded(seq=1, session=session, at=9e9, event=ended)]

    alone.archivist = archivist_of(
        alone.world,
        alone.folder,
        largest=50_000,
        dialects=TellingDialects(alone.world),
        events=events,
    )
    captured = await alone.capture()

    assert "- `make step-7` → ok" in Path(captured.document or "").read_text()
