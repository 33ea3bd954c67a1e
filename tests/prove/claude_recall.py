"""What the real Claude Code is told when it comes back: all of it, exactly, and no secret.

A long conversation is laid where a dead client had its own, and a fresh one is told of it.
"""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from sm.core.envelope import message_in, sanitise, unwrap
from tests.kit.anthropic_api import DONE, Reply, Request, ToolUse
from tests.kit.foreign_secrets import KINDS, Sample, judge, samples
from tests.kit.records import Writer
from tests.kit.sm import Sm
from tests.kit.tmux import wait_until
from tests.prove.claude_rescue import QUIET
from tests.prove.ladder import Desk, desk
from tests.prove.ledger import Verdict
from tests.prove.texts import TEXTS
from tests.prove.walkaway import configure

MB = 1_000_000
LONGEST_TEXT = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What its model was given, beside what was meant."""

    meant: str
    given: str
    seconds: float
    """From the request to the model's own report."""

    @property
    def is_exact(self) -> bool:
        return self.given == sanitise(self.meant)


def die(ada: Desk) -> None:
    os.kill(ada.sm.json("show", "ada")["pid"], signal.SIGKILL)
    ada.sm.wait_state("ada", "crashed")


def told(ada: Desk) -> Told:
    """Brought back in a fresh context: the first thing its model was given."""
    before = len(ada.api.main_requests())
    ada.sm.run("recover", "ada", "--fresh", timeout=180)
    wait_until(lambda: len(ada.api.main_requests()) > before, 30, seen=ada.report)
    prompt = ada.api.main_requests()[before].prompt
    meant = next(m["text"] for m in ada.messages() if m["id"] == message_in(prompt))
    (recovery,) = ada.sm.json("show", "ada")["recoveries"]
    return Told(meant=meant, given=unwrap(prompt) or "", seconds=recovery["seconds"])


def long_conversation(sm: Sm, *, size: int, seed: int = 1) -> Told:
    """A transcript of this many bytes, in as many words as a prompt may have."""
    configure(sm, QUIET)
    with desk(sm, lambda _: DONE) as ada:
        ada.start()
        ada.prompt("hello")
        ada.settle()
        transcript = Path(ada.sm.json("show", "ada")["context"]["transcript"])
        die(ada)
        last = talk(transcript, size, seed=seed)
        found = told(ada)
        assert sanitise(last) in found.given
        return found


def talk(path: Path, size: int, *, seed: int) -> str:
    """Write a conversation in many words, hostile ones among them; its last request."""
    writer = Writer(Random(seed), size)
    hostile = [text for text in TEXTS.values() if len(text) < LONGEST_TEXT]
    with path.open("wb") as file:
        while file.tell() < size:
            request = f"{writer.uuid()}: {writer.random.choice(hostile)}\n{writer.code(300)}"
            file.write(writer.said(request))
            file.write(writer.bash("make check", writer.code(3_000)))
            answer = f"{writer.code(4_000)}\n{writer.random.choice(hostile)}"
            file.write(writer.reply({"type": "text", "text": answer}))
    return request


def long_conversations(sm: Sm, *, size: int = 4 * MB) -> tuple[Verdict, str]:
    found = long_conversation(sm, size=size)
    words = (
        f"a transcript of {size / MB:g} MB in a prompt of {len(found.given.encode()):,} bytes,"
        f" given in {found.seconds:.1f} s"
    )
    return Verdict(sent=1, once=1, changed=int(not found.is_exact)), words


# --- secrets -------------------------------------------------------------------------------

RUN = 10
"""Characters in a row. Of fewer, the random ids that stand in these places hold some by chance."""
PRINT, WRITE = "Print the settings.", "Write it down."
BOUNDARY = "\n=#=#=\n"


@dataclass(slots=True)
class Spilt:
    """One client that has printed secrets, said them and written them down; what shows them."""

    ada: Desk
    secrets: list[Sample]
    shown: dict[str, str]

    @property
    def survivors(self) -> list[str]:
        """Each place where a secret is still to be read, and which."""
        return [
            f"{place}: {judged.survived!r} of {sample.kind}"
            for place, text in self.shown.items()
            for sample in self.secrets
            if not (judged := judge(sample, text, run=RUN)).found
        ]


@contextmanager
def spilling(sm: Sm, secrets: list[Sample]) -> Iterator[Desk]:
    """Printed by a tool, into the terminal and the transcript; said by the model; in a document."""
    text = BOUNDARY.join(sample.text for sample in secrets)
    file, document = sm.work / "settings.txt", sm.work / "document.md"
    file.write_text(text)
    document.write_text(f"# Goal\nUse the settings.\n{text}\n# Next actions\nGo on.\n")

    def reply(request: Request) -> Reply:
        if request.prompt == PRINT:
            tool = ToolUse(name="Bash", input={"command": f"cat {file}"})
            return Reply(text=f"I print them:\n{text}", tools=(tool,))
        if request.prompt == WRITE:
            return Reply(tools=(ToolUse(name="Bash", input={"command": f"sm handoff {document}"}),))
        return DONE

    configure(sm, QUIET + '[daemon]\nlog_level = "debug"\n')
    with desk(sm, reply) as ada:
        ada.start()
        yield ada


def spilt(sm: Sm, secrets: list[Sample]) -> Spilt:
    with spilling(sm, secrets) as ada:
        for prompt in (WRITE, PRINT):
            before = len(ada.api.main_requests())
            ada.prompt(prompt)
            wait_until(lambda n=before: len(ada.api.main_requests()) > n, 30, seen=ada.report)  # type: ignore[misc]
            wait_until(lambda: not is_passing(ada), 60, seen=ada.report)
            ada.settle()
        sm.run("snapshot", "ada")
        living = {"words": sm.run("show", "ada", "--json"), "explained": sm.run("explain", "ada")}
        die(ada)
        shown = {
            "dry run": sm.run("recover", "ada", "--dry-run", "--fresh"),
            "dry run, as JSON": sm.run("recover", "ada", "--dry-run", "--fresh", "--json"),
            "dry run, resumed": sm.run("recover", "ada", "--dry-run", "--resume"),
            "snapshot": sm.run("snapshot", "ada", "--show"),
            "list": sm.run("recover"),
            "log": sm.run("log", "ada"),
            **living,
        }
        shown["dry run, as JSON"] = prompt_of(shown["dry run, as JSON"])
        shown["prompt"] = told(ada).given
        shown["logs"] = logs(sm)
        return Spilt(ada, secrets, shown)


def is_passing(ada: Desk) -> bool:
    return ada.sm.json("show", "ada")["handoff"] is not None


def prompt_of(plans: str) -> str:
    """As text: in JSON a secret may be spelt in other letters."""
    (plan,) = json.loads(plans)
    return "\n".join(str(value) for value in plan.values())


def logs(sm: Sm) -> str:
    """All the daemon wrote down of its own doing."""
    found = [path for path in sm.home.state.rglob("*.log*") if path.name != "raw.log"]
    assert found, "there is no log"
    return "\n".join(path.read_text(errors="replace") for path in found)


def chosen(kinds: int, *, seed: int = 1) -> list[Sample]:
    """One secret of each of so many kinds."""
    return [sample for kind in KINDS[:kinds] for sample in samples(seed, kind, 1)]


def no_secrets(sm: Sm, *, kinds: int = len(KINDS)) -> tuple[Verdict, str]:
    secrets = chosen(kinds)
    found = spilt(sm, secrets)
    survivors = found.survivors
    for one in survivors:
        print(f"  {one}", flush=True)
    kept: dict[str, Any] = {place: len(text) for place, text in found.shown.items()}
    words = f"{len(secrets)} kinds, in {len(kept)} places: {', '.join(kept)}"
    return Verdict(sent=1, once=1, changed=len(survivors)), words
