"""Recollections of crashed sessions: from their files to what the next agent is told."""

import json
import random
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from sm.adapters.agents import Dialects
from sm.adapters.archive.render import tail
from sm.adapters.handoffs.folders import HandoffFolders
from sm.core.crash import Cause, Crash
from sm.core.envelope import sanitise
from sm.core.exchange import Deed, Exchange, Result, Role
from sm.core.ids import HandoffId, SessionId
from sm.core.message import MessageState, Route, Way
from sm.core.recollection import tokens
from sm.core.state import Limit, PastContext, Session, Thresholds, Usage
from sm.engine.drafts import Drafts
from sm.engine.recollection import Known, Recollected, Recollection, RecollectionRules
from sm.redaction.redactor import Redactor
from tests.adapters.agents.claude.telling import asks, calls, gives, says, write
from tests.core.samples import HANDOFF, IDLE, message
from tests.engine.timelapse import LoopClock
from tests.kit.secrets_generator import GENERATORS, planted

pytestmark = pytest.mark.anyio
CRASH = Crash(at=0.0, cause=Cause.SIGNAL, words="the agent was ended by signal 9", busy=True)


@dataclass
class Desk:
    """A session's files, and what is recollected from them."""

    folder: Path
    session: Session = IDLE
    redact: Callable[[str], str] = lambda text: text
    rules: RecollectionRules = field(default_factory=RecollectionRules)
    snapshot: tuple[str, float] | None = None

    def __post_init__(self) -> None:
        self.session = replace(self.session, cwd=str(self.folder))
        self.handoffs = HandoffFolders(lambda session: self.folder / session)

    def said(self, *records: dict[str, Any] | bytes) -> None:
        path = write(self.folder / "t.jsonl", *records)
        context = replace(self.session.context, transcript=str(path))
        self.session = replace(self.session, context=context)

    def showed(self, content: bytes) -> None:
        (self.folder / "raw.log").write_bytes(content)

    def handed_over(self, text: str) -> None:
        self.handoffs.keep_text(self.session.id, HANDOFF, text, 10**9)
        self.session = replace(self.session, last_handoff=HANDOFF)

    def log(self, _session: SessionId, lines: int) -> list[str]:
        return tail(self.folder / "raw.log", self.folder / "sizes.jsonl", lines)

    async def told(self, crash: Crash = CRASH, **more: Any) -> Recollected:
        drafts = Drafts(
            dialects=Dialects(),
            handoffs=self.handoffs,
            clock=LoopClock(),
            redact=self.redact,
        )
        recollection = Recollection(
            drafts=drafts, log=self.log, snapshot=lambda _: self.snapshot, rules=self.rules
        )
        window = more.pop("window", None)
        return await recollection.of(self.session, crash, known=Known(**more), window=window)


def make_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "trunk", folder], check=True)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_a_whole_transcript_can_be_resumed_and_told(desk: Desk) -> None:
    make_repository(desk.folder)
    desk.said(
        asks("Port the reader", 1), says("I begin.", 2), calls("Bash", "A", 3, command="make all")
    )

    told = await desk.told(survivors=("process 7: make all",), unrecorded=("and {hurry}",))

    assert told.whole
    assert told.is_open
    assert told.flaw == ""
    assert told.sources == ("transcript: 1 request, 1 reply", "git")
    assert told.skipped == ()
    assert (told.requests, told.replies, told.lines) == (1, 1, 5)
    assert told.last_activity == "running `make all`"
    for text in (told.prompt, told.note):
        assert "It still runs (process 7: make all)" in text
        assert "\nand {hurry}\n" in text
        assert "do not apologise" in text.lower()
    assert "\nPort the reader\n" in told.prompt
    assert "No commits yet on trunk" in told.prompt
    assert "Port the reader" not in told.note


async def test_an_idle_agent_has_nothing_to_go_on_with(desk: Desk) -> None:
    desk.said(asks("Port the reader", 1), says("Done.", 2))

    told = await desk.told(replace(CRASH, busy=False))

    assert not told.is_open
    assert "wait for the next prompt" in told.prompt
    assert told.last_activity == "said: Done."


async def test_a_torn_end_is_told_fresh(desk: Desk) -> None:
    desk.said(asks("Port the reader"), b'{"type":"assistant","me')

    told = await desk.told()

    assert not told.whole
    assert told.flaw == "its last record is torn"
    assert "\nPort the reader\n" in told.prompt


async def test_the_last_handoff_is_told_beside_the_conversation(desk: Desk) -> None:
    desk.handed_over("# Port\n\nThe store is half done.\n")
    desk.said(asks("Go on"))

    told = await desk.told()

    assert told.sources[-1] == f"last handoff {HANDOFF}"
    assert "\nThe store is half done.\n" in told.prompt
    assert f"({HANDOFF}, whole at `{desk.folder}" in told.prompt


async def test_with_the_handoff_alone_there_is_still_a_task(desk: Desk) -> None:
    """No transcript, no log, no snapshot."""
    desk.handed_over("# Port\n\nThe store is half done.\n")

    told = await desk.told()

    assert told.sources == (f"last handoff {HANDOFF}",)
    assert told.skipped == (
        "transcript: there is none",
        "terminal log: there is none",
        "snapshot: there is none",
    )
    assert "\nThe store is half done.\n" in told.prompt
    assert f"({HANDOFF}, whole at `{desk.folder}" in told.prompt


async def test_a_handoff_that_somebody_else_took_is_not_told(desk: Desk) -> None:
    """Two would carry it out."""
    desk.handed_over("# Port\n\nThe store is half done.\n")
    desk.said(asks("Go on"))

    told = await desk.told(replace(CRASH, handoff=HANDOFF), taken_by="bob")

    assert "The store is half done." not in told.prompt
    assert "bob has taken it over" in told.prompt
    assert "bob has taken it over" in told.note
    assert told.skipped == (f"last handoff {HANDOFF}: bob has taken it over",)


async def test_a_handoff_that_is_gone_is_named(desk: Desk) -> None:
    desk.session = replace(desk.session, last_handoff=HandoffId("b" * 12))

    told = await desk.told()

    assert f"last handoff {'b' * 12}: its document cannot be read" in told.skipped


async def test_with_nothing_at_all_sm_tells_what_it_gave(desk: Desk) -> None:
    taken = message(1, text="Port the reader", state=MessageState.ACCEPTED)
    waiting = message(2, text="and then this", state=MessageState.QUEUED)
    desk.session = desk.session.with_message(taken).with_message(waiting)

    told = await desk.told()

    assert told.sources == ("what sm delivered: 1 message",)
    assert "What sm had given you last:\n\n```\nPort the reader\n```" in told.prompt
    assert "and then this" not in told.prompt, "it is still to be delivered"


async def test_the_terminal_speaks_in_place_of_a_lost_transcript(desk: Desk) -> None:
    shown = "❯ Port the reader\r\n\r\n● Bash(make all)\r\n  ⎿  Running…\r\n"
    desk.showed(shown.encode())

    told = await desk.told()

    assert told.sources == ("terminal log: 4 lines, 1 request, 0 replies",)
    assert told.last_activity == "running `make all`"
    assert "- Bash `make all` has no result." in told.prompt


def at_work_again(desk: Desk) -> None:
    """Recovered once while a command ran, and at work in the new context, whose record is gone."""
    path = write(desk.folder / "old.jsonl", asks("Port it"), calls("Bash", "A", command="sleep 77"))
    past = PastContext(
        number=1, id=None, transcript=str(path), tokens=9, ended_at=0.0, how="recovery r1"
    )
    context = replace(desk.session.context, number=2, turns=2, transcript=str(desk.folder / "no"))
    desk.session = replace(desk.session, lineage=(past,), context=context)


async def test_the_terminal_speaks_before_the_transcript_of_an_older_context(desk: Desk) -> None:
    """The newer requests are on it; what an earlier crash cut is not told as cut once more."""
    at_work_again(desk)
    shown = "❯ Port it\r\n\r\n● Bash(sleep 77)\r\n  ⎿  Running…\r\n"
    desk.showed(f"{shown}❯ SECOND request\r\n\r\n● Done.\r\n".encode())

    told = await desk.told(replace(CRASH, busy=False))

    assert told.sources == ("terminal log: 7 lines, 2 requests, 1 reply",)
    assert told.skipped == ("transcript: there is none",)
    assert "SECOND request" in told.prompt
    assert "has no result" not in told.prompt
    assert not told.is_open


async def test_what_was_cut_in_an_older_context_is_not_to_be_completed(desk: Desk) -> None:
    """Its transcript is all that is left, and is named as what it is."""
    at_work_again(desk)
    taken = message(1, text="SECOND request", state=MessageState.ACCEPTED)
    desk.session = desk.session.with_message(taken)

    told = await desk.told()

    assert told.sources[0] == "transcript of context 1: 1 request, 0 replies"
    assert "Of an earlier context: nothing of what was said since could be read." in told.prompt
    assert "has no result" not in told.prompt
    assert "Complete what was in progress" not in told.prompt
    assert "so do not complete it" in told.prompt
    assert "no record of it is left):\n\n```\nSECOND request\n```" in told.prompt
    assert told.last_activity == ""


async def test_what_was_asked_in_earlier_contexts_is_not_forgotten(desk: Desk) -> None:
    path = write(desk.folder / "old.jsonl", asks("How it all began"))
    past = PastContext(
        number=1, id=None, transcript=str(path), tokens=None, ended_at=0.0, how="clear"
    )
    desk.said(asks("Go on"))
    desk.session = replace(desk.session, lineage=(past,))

    told = await desk.told()

    assert "### Asked before that\n\n- (2026-11-15 20:00) How it all began\n" in told.prompt


async def test_what_does_not_fit_of_the_conversation_is_asked_for_in_short(desk: Desk) -> None:
    """The oldest part of a long transcript is not even read, but its requests are known."""
    rounds = [
        part
        for n in range(600)
        for part in (asks(f"the wish {n}", n % 60), says(f"{n} " + "so be it " * 90, n % 60))
    ]
    for n, record in enumerate(rounds):
        record["timestamp"] = f"2026-11-15T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000Z"
    desk.said(*rounds)

    told = await desk.told(window=20_000)

    assert tokens(told.prompt) <= 8_000
    assert "\nthe wish 599\n" in told.prompt
    assert "the wish 0\n" in told.prompt
    assert told.requests == 600


@pytest.mark.parametrize("window", [None, 2_000, 20_000, 200_000, 1_000_000])
async def test_a_prompt_stays_clear_of_the_first_warning(desk: Desk, window: int | None) -> None:
    desk.said(asks("x" * 200_000), says("y " * 500_000), asks("z\n" * 300_000))
    limits = Thresholds(
        early=Limit(percent=20.0), warning=Limit(percent=30.0), critical=Limit(percent=90.0)
    )
    usage = Usage(tokens=1, window=window, model="m", source="statusline", at=0.0)
    context = replace(desk.session.context, usage=usage)
    desk.session = replace(desk.session, thresholds=limits, context=context)

    told = await desk.told(window=window)

    assert tokens(told.prompt) <= max(667, (window or 200_000) * 0.2)
    assert len(told.prompt) <= 350_000
    assert told.lines <= 10_000


async def test_the_most_lines_are_kept_to(desk: Desk) -> None:
    desk.rules = RecollectionRules(lines=40)
    desk.said(*(says(f"line {n}\n" * 5, n % 60) for n in range(50)), asks("last"))

    assert (await desk.told()).lines <= 40


async def test_a_template_may_ask_for_the_terminal_too(desk: Desk) -> None:
    desk.rules = RecollectionRules(template="{reason} / {scrollback} / {transcript}")
    desk.said(asks("Port {git}"))
    desk.showed(b"$ make\r\n")

    told = await desk.told()

    assert "/ ```\n$ make\n``` /" in told.prompt
    assert "Port {git}" in told.prompt
    assert told.sources == ("transcript: 1 request, 0 replies", "terminal log: 1 line")


# --- secrets


KINDS = random.Random(6).sample(sorted(GENERATORS), 20)


@pytest.fixture(scope="module")
def secrets() -> list[tuple[str, str, tuple[str, ...]]]:
    """Twenty kinds: name, surroundings, and what may be left nowhere."""
    found = [next(iter(planted(kind, 1, seed=6))) for kind in KINDS]
    return [(one.kind, one.text, one.needles) for one in found]


Secrets = list[tuple[str, str, tuple[str, ...]]]


def leaks(told: Recollected, secrets: Secrets) -> list[str]:
    everything = "\n".join(
        [told.prompt, told.note, *told.sources, *told.skipped, told.last_activity]
    )
    return [kind for kind, _, needles in secrets for needle in needles if needle in everything]


def hiding(desk: Desk) -> Desk:
    desk.redact = lambda text: Redactor().redact(text)
    return desk


async def test_no_secret_of_a_transcript_is_told(desk: Desk, secrets: Secrets) -> None:
    """Wherever it stands: asked, said, run, printed, sent, or in what was cut."""
    rounds = [
        part
        for n, (_, text, _) in enumerate(secrets)
        for part in (
            asks(f"use this:\n{text}\n", n),
            says(f"I use it:\n{text}\n", n),
            calls("Bash", f"c{n}", n, command=f"export IT\n{text}\n"),
            gives("line of output\n" * n + f"{text}\n", f"c{n}", n),
        )
    ]
    half = [text for _, text, _ in secrets]
    hiding(desk).said(*rounds, calls("Bash", "z", 59, command=half[0]))

    for window in (4_000, 20_000, 200_000):
        told = await desk.told(
            window=window, unrecorded=tuple(half), survivors=(f"process 1: {half[1]}",)
        )
        assert leaks(told, secrets) == []
        assert "[redacted:" in told.prompt
        assert tokens(told.prompt) <= max(667, window * 0.4)


async def test_no_secret_of_a_terminal_is_told(desk: Desk, secrets: Secrets) -> None:
    lines = "".join(f"$ show {kind}\n{text}\n" for kind, text, _ in secrets)
    hiding(desk).showed(lines.replace("\n", "\r\n").encode())
    (desk.folder / "sizes.jsonl").write_text(json.dumps({"offset": 0, "cols": 4000, "rows": 50}))

    for spare in (200_000, 6_000):
        told = await desk.told(window=spare)
        assert told.lines
        assert leaks(told, secrets) == []


async def test_no_secret_of_a_snapshot_or_a_handoff_is_told(desk: Desk, secrets: Secrets) -> None:
    lines = "".join(f"$ show {kind}\n{text}\n" for kind, text, _ in secrets)
    hiding(desk).snapshot = (lines, 0.0)
    desk.handed_over(f"# Handoff\n\n{lines}")

    told = await desk.told(crash=replace(CRASH, dialog=secrets[0][1], words=secrets[1][1]))

    assert leaks(told, secrets) == []
    assert "snapshot: " in told.sources[0]


async def test_a_secret_that_reaches_from_one_text_into_another_is_hidden_too(desk: Desk) -> None:
    """Its beginning in one text, its end in the next: the other texts stay what they are."""
    desk.redact = lambda text: re.sub("BEGIN.*?END", "[redacted:key]", text, flags=re.DOTALL)
    desk.said(
        asks("Port it", 1), asks("BEGIN abc", 2), asks("def END and go on", 3), says("I see.", 4)
    )

    told = await desk.told(unrecorded=("the last text",))

    assert "abc" not in told.prompt
    assert "def" not in told.prompt
    assert "\nPort it\n" in told.prompt
    assert " and go on\n[you said]\nI see.\n" in told.prompt
    assert "\nthe last text\n" in told.note


async def test_what_was_asked_last_is_told_however_long_ago(desk: Desk) -> None:
    """An agent may work for days on one request: more than a prompt has room for."""
    wish = "Port it\n\nall of it"
    desk.said(asks(wish, 1), *(says(f"{n} " + "so be it " * 900, 2) for n in range(100)))

    told = await desk.told(window=20_000)

    assert f"]\n{wish}\n" in told.prompt
    assert "\n99 so be it" in told.prompt


async def test_a_secret_is_hidden_before_a_text_is_cut(desk: Desk) -> None:
    """Half of it would not be recognised any more."""
    secret = "hunter2" * 3_000
    desk.redact = lambda text: text.replace(secret, "[redacted:password]")
    desk.said(
        asks("show it", 1),
        says(f"It is {secret}", 2),
        calls("Bash", "A", 3, command="x"),
        gives(secret, "A", 4),
        asks(f"and {secret}?", 5),
    )

    told = await desk.told(window=20_000, unrecorded=(secret,))

    assert "hunter2" not in told.prompt + told.note
    assert told.prompt.count("[redacted:password]") >= 4


async def test_a_placeholder_longer_than_its_secret_takes_no_prompt_over_its_budget(
    desk: Desk,
) -> None:
    desk.redact = lambda text: text.replace("pw", "[redacted:password:pw]")
    desk.said(asks("pw " * 20_000))

    told = await desk.told(window=20_000)

    assert tokens(told.prompt) <= 8_000
    assert "[redacted:password:" in told.prompt


async def test_a_run_is_told_no_more_than_its_hooks_carry(desk: Desk) -> None:
    """Nothing is typed into a run: what does not fit would wait for ever."""
    ways = (Way(route=Route.TOOL_RESULT, limit=9_500), Way(route=Route.DOORBELL, limit=50_000))
    desk.session = replace(desk.session, wrapped=True, ways=ways)
    desk.said(*(asks(f"number {n}: " + "port the lexer " * 200) for n in range(100)))

    told = await desk.told(window=1_000_000)

    assert 40_000 < len(told.prompt.encode()) <= 49_700


async def test_a_run_that_no_route_leads_to_is_told_nothing(desk: Desk) -> None:
    """Its configuration names only routes that type: its agent comes back all the same."""
    desk.session = replace(desk.session, wrapped=True, ways=())
    desk.said(asks("Port the reader", 1), calls("Bash", "A", 3, command="make all"))

    told = await desk.told()

    assert (told.prompt, told.note) == ("", "")
    assert told.skipped[-1] == "all of it: no route is left to tell its agent anything"
    assert told.whole


async def test_what_carries_only_urgent_messages_is_no_route_for_it(desk: Desk) -> None:
    """A recovery's first words are not urgent: they would wait for ever."""
    desk.session = replace(desk.session, ways=(Way(route=Route.TOOL_RESULT, limit=9_500),))
    desk.said(asks("Port the reader", 1))

    assert (await desk.told()).prompt == ""


async def test_a_prompt_that_stays_too_long_is_cut_in_the_end(desk: Desk) -> None:
    """A pattern may find what stands in every prompt: nobody waits for one that never fits."""
    desk.redact = lambda text: text.replace("left out", "[redacted:words]" * 500)
    desk.said(asks("Port the reader " * 500, 1))

    told = await desk.told(window=1_000)

    assert len(told.prompt.encode()) <= 2_000
    assert " bytes left out …" in told.prompt


async def test_a_run_that_was_resumed_is_told_no_more_than_its_hooks_carry(desk: Desk) -> None:
    """Behind a note that no route carries, nothing else would be given ever again."""
    ways = (Way(route=Route.STOP_REPLY, limit=9_500),)
    desk.session = replace(desk.session, wrapped=True, ways=ways)
    desk.said(asks("Port the reader", 1), says("I begin.", 2))

    told = await desk.told(unrecorded=("word " * 10_000,))

    assert 8_000 < len(told.note.encode()) <= 9_200
    assert " bytes left out …" in told.note


async def test_a_tab_counts_for_the_spaces_it_arrives_as(desk: Desk) -> None:
    """Nothing that was measured to fit grows in its envelope."""
    ways = (Way(route=Route.STOP_REPLY, limit=9_500),)
    desk.session = replace(desk.session, wrapped=True, ways=ways)
    desk.said(*(asks("\tall:\tlexer\n" * 100, n) for n in range(50)))

    told = await desk.told()

    assert "all:" in told.prompt
    assert len(sanitise(told.prompt).encode()) <= 9_200


async def test_what_hooks_told_the_end_of_is_not_asked_for_again(desk: Desk) -> None:
    """An agent that dies writes less into its record than it had done and reported."""
    desk.said(asks("Port the reader", 1), calls("Bash", "A", 3, command="make all"))

    def ended(call: str, command: str) -> Exchange:
        return Exchange(
            role=Role.CALLED,
            tool="Bash",
            deed=Deed.COMMAND,
            call=call,
            text=command,
            at=5e9,
            result=Result(is_recorded=False),
        )

    told = await desk.told(ended=(ended("A", "make all"), ended("B", "make --key=abc install")))

    assert told.sources[:2] == (
        "transcript: 1 request, 0 replies",
        "hooks: 2 calls the transcript has no end of",
    )
    assert told.last_activity == "ran `make --key=abc install`"
    for text in (told.prompt, told.note):
        assert "Bash `make all` was done, though your own record lacks it" in text
        assert "Bash `make --key=abc install` was done" in text
        assert "has no result" not in text
    assert "[tool] Bash: make --key=abc install → ok" in told.prompt


async def test_a_terminal_shows_by_itself_what_hooks_told_of(desk: Desk) -> None:
    desk.showed(b"$ make all\r\ndone\r\n" * 5)
    call = Exchange(role=Role.CALLED, text="make all", at=5.0, result=Result(is_recorded=False))

    told = await desk.told(ended=(call,))

    assert "though your own record lacks it" not in told.prompt
