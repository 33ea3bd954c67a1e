"""Automatic documents of sessions and of transcripts: read, composed, nothing written."""

import re
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from sm.adapters.handoffs.folders import HandoffFolders
from sm.core.ids import HandoffId
from sm.core.inline import ESSENCE
from sm.core.state import PastContext, Session
from sm.core.story import Command, Request, Story
from sm.engine.drafts import TOLD, Drafts
from sm.engine.naming import NotFoundError, RefusedError
from sm.engine.ports import Dialect
from tests.core.samples import IDLE, handoff
from tests.engine.dialects import ScriptedDialect, ScriptedDialects
from tests.engine.timelapse import LoopClock
from tests.engine.world import World

pytestmark = pytest.mark.anyio
LONG = "x" * 9_000


@dataclass(slots=True)
class Telling(ScriptedDialect):
    """An agent whose transcripts hold one request: all of their text."""

    read: list[Path] = field(default_factory=list)

    def read_story(self, transcript_path: Path) -> Story | None:
        self.read.append(transcript_path)
        text = transcript_path.read_text()
        return Story(requests=(Request(text=text, at=1.0),)) if text else None


class Dialects(ScriptedDialects):
    recognisable: tuple[str, ...] = ("telling",)

    def named(self, agent: str) -> Dialect:
        return Telling(self.world, agent, proves=True)


@dataclass(slots=True)
class Working(Telling):
    def read_story(self, transcript_path: Path) -> Story | None:
        return worked(transcript_path.read_text(), float(transcript_path.stem))


class WorkedDialects(Dialects):
    def named(self, agent: str) -> Dialect:
        return Working(self.world, agent, proves=True)


@pytest.fixture
def drafts(tmp_path: Path) -> Drafts:
    return Drafts(
        dialects=Dialects(World(LoopClock().now)),
        handoffs=HandoffFolders(lambda session: tmp_path / session),
        clock=LoopClock(),
        redact=lambda text: text,
    )


def having(tmp_path: Path, *asked: str) -> Session:
    """A session whose contexts were asked these things, the last of them now."""
    paths = [tmp_path / f"{n}.jsonl" for n, _ in enumerate(asked, 1)]
    for path, text in zip(paths, asked, strict=True):
        path.write_text(text)
    lineage = tuple(
        PastContext(number=n, id=None, transcript=str(path), tokens=None, ended_at=0.0, how="clear")
        for n, path in enumerate(paths[:-1], 1)
    )
    context = replace(IDLE.context, number=len(paths), transcript=str(paths[-1]))
    return replace(IDLE, context=context, lineage=lineage, cwd=str(tmp_path))


def make_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "trunk", folder], check=True)


async def test_a_session_is_told_with_what_sm_knows_of_it(drafts: Drafts, tmp_path: Path) -> None:
    """Name, context, tasks that still run, git."""
    make_repository(tmp_path)
    session = replace(having(tmp_path, "Port the reader"), tasks=("a server",))

    text = (await drafts.of_session(session, 30_000)).text

    assert "<!-- TYPE: auto -->" in text
    assert f"<!-- SESSION: {session.context.id} -->" in text
    assert f"Session {session.name}, context 1" in text
    assert "\nPort the reader\n" in text
    assert "told by the agent as running: a server" in text
    assert "No commits yet on trunk" in text


async def test_whoever_keeps_the_document_says_under_which_name_and_where(
    drafts: Drafts, tmp_path: Path
) -> None:
    session = having(tmp_path, LONG)

    draft = await drafts.of_session(session, 30_000, name="HO-1", folder="/kept")

    assert draft.text.startswith("<!-- HANDOFF-ID: HO-1 -->\n")
    assert "9000 bytes, whole in /kept/request-1.md" in draft.text
    assert [aside.text for aside in draft.asides] == [LONG]


async def test_how_it_all_began_is_in_every_context(drafts: Drafts, tmp_path: Path) -> None:
    session = having(tmp_path, "The very first request of all, word for word", "b", "c", "d")

    text = (await drafts.of_session(session, 30_000)).text

    assert "\nThe very first request of all, word for word\n" in text
    assert "\nc\n" in text
    assert "\nd\n" in text


async def test_what_was_asked_last_is_there_however_long_ago(
    drafts: Drafts, tmp_path: Path
) -> None:
    """Contexts that were only handed on from one to the next are asked nothing."""
    session = having(tmp_path, "how it began", "what came then", "", "", "")

    text = (await drafts.for_handoff(session, handoff(), "/kept", ())).text

    assert "\nhow it began\n" in text
    assert "\nwhat came then\n" in text
    assert [n for n in range(1, 6) if f"Context {n}, until" in text] == [1, 2, 4], "and the last"


def worked(text: str, at: float) -> Story:
    """One turn that came to its end: what was asked, and a command of that name."""
    return Story(
        requests=(Request(text=text, at=at),),
        commands=(Command(line=f"make {text}", at=at),),
        last_words=f"{text} is done",
        ended_at=at + 1,
        answered_at=at + 1,
        is_at_rest=True,
    )


async def test_what_came_of_earlier_contexts_is_told(drafts: Drafts, tmp_path: Path) -> None:
    """Where each was answered, what was done, and where the document of then is."""
    dialects = WorkedDialects(World(LoopClock().now))
    drafts = replace(drafts, dialects=dialects)
    kept = drafts.handoffs.keep_text(IDLE.id, HandoffId("HO-1"), "# Goal\n" + LONG, 100_000)
    session = having(tmp_path, "tax", "reader", "wheel")
    first, second = session.lineage
    session = replace(session, lineage=(replace(first, how="handoff HO-1"), second))

    draft = await drafts.of_session(session, 30_000)

    before = draft.text.partition("## Before this context")[2].partition("\n## ")[0]
    assert before.index("- `make tax` → ok") < before.index("- `make reader` → ok")
    assert kept.path in before
    assert "tax is done" in before
    assert re.search("answered in context 1:\n\n```\ntax\n", draft.text)
    assert re.search("answered in context 3:\n\n```\nwheel\n", draft.text)


@pytest.mark.parametrize("contexts", [3, 6, 12])
async def test_what_is_done_is_told_however_long_ago_and_in_however_little(
    drafts: Drafts, tmp_path: Path, contexts: int
) -> None:
    """The last thing done for the first request, and for those that stand in the document."""
    drafts = replace(drafts, dialects=WorkedDialects(World(LoopClock().now)))
    names = [f"part {n} of a request that says something" for n in range(contexts)]
    session = having(tmp_path, *names)

    whole = (await drafts.of_session(session, 30_000)).text
    for budget, text in (
        (30_000, whole),
        (ESSENCE, (await drafts.of_session(session, ESSENCE)).text),
    ):
        told = [n for n in range(contexts) if f"`make {names[n]}`" in text]
        assert {0, *range(contexts - 3, contexts)} <= set(told), (budget, told)
        assert len(text.encode()) <= budget
    before = [n for n in range(1, contexts) if f"Context {n}, until" in whole]
    assert before == sorted({1, *range(max(1, contexts - TOLD), contexts)})


@pytest.mark.parametrize("before", range(95, 145))
async def test_no_secret_of_an_earlier_context_is_told(
    drafts: Drafts, tmp_path: Path, before: int
) -> None:
    """Wherever a list cuts it."""
    hiding = replace(
        drafts,
        dialects=WorkedDialects(World(LoopClock().now)),
        redact=lambda text: text.replace("hunter2", "[redacted:password]"),
    )
    session = having(tmp_path, f"{'x' * before} hunter2 {'y ' * 200}", "now")

    assert "hunt" not in (await hiding.of_session(session, 30_000)).text


async def test_a_transcript_that_is_gone_is_not_missed(drafts: Drafts, tmp_path: Path) -> None:
    session = having(tmp_path, "old", "new")
    (tmp_path / "1.jsonl").unlink()

    assert "\nnew\n" in (await drafts.of_session(session, 30_000)).text


async def test_any_transcript_can_be_told(drafts: Drafts, tmp_path: Path) -> None:
    path = tmp_path / "c74cc080-1.jsonl"
    path.write_text("Port the reader")

    text = (await drafts.of_transcript(str(path), 30_000)).text

    assert "-c74cc080 -->" in text.partition("\n")[0]
    assert "\nPort the reader\n" in text


async def test_a_transcript_of_any_name_gives_a_handoff_its_form(
    drafts: Drafts, tmp_path: Path
) -> None:
    """Another tool may call its file what it likes; `sm handoffs` knows one form of id."""
    path = tmp_path / "my --> notes.jsonl"
    path.write_text("Port the reader")

    first = (await drafts.of_transcript(str(path), 30_000)).text.partition("\n")[0]

    assert re.fullmatch(r"<!-- HANDOFF-ID: HO-[0-9]{8}-[0-9]{6}-[0-9a-f]{8} -->", first)


async def test_everything_that_leaves_goes_through_redaction(
    drafts: Drafts, tmp_path: Path
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f"hunter2 {LONG} hunter2")
    hiding = replace(drafts, redact=lambda text: text.replace("hunter2", "[redacted:password]"))

    draft = await hiding.of_transcript(str(path), 30_000)

    assert "hunter2" not in draft.text + draft.asides[0].text
    assert draft.text.count("[redacted:password]") >= 2


async def test_refusals_say_what_is_wrong(drafts: Drafts, tmp_path: Path) -> None:
    empty, locked = tmp_path / "empty", tmp_path / "loop"
    empty.touch()
    locked.symlink_to(locked)
    for path in (None, f"/{'x' * 300}/t.jsonl"):
        nameless = replace(IDLE, context=replace(IDLE.context, transcript=path))
        with pytest.raises(RefusedError, match="has no transcript yet"):
            await drafts.of_session(nameless, 30_000)
    with pytest.raises(NotFoundError, match=r"none does not exist\. Name a transcript"):
        await drafts.of_transcript(str(tmp_path / "none"), 30_000)
    with pytest.raises(NotFoundError, match="is not a file"):
        await drafts.of_transcript(str(tmp_path), 30_000)
    with pytest.raises(RefusedError, match="is not a transcript sm can read"):
        await drafts.of_transcript(str(empty), 30_000)
    with pytest.raises(RefusedError, match="not an absolute path"):
        await drafts.of_transcript("t.jsonl", 30_000)
    with pytest.raises(RefusedError, match="Give at least 4KB"):
        await drafts.of_transcript(str(empty), 3_999)
    with pytest.raises((RefusedError, NotFoundError)):
        await drafts.of_transcript(str(locked), 30_000)
