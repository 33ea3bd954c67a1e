"""Transcripts with some forty facts in them that whoever takes over must know.

Seeded. A fact is present when its distinctive words are; nothing here knows how a document is made.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from tests.kit.foreign_noise import LENGTHS, Pastime, files_of
from tests.kit.foreign_transcript import Writer

ANIMALS = (
    "marmot", "kestrel", "ibex", "lynx", "otter", "heron", "badger", "stoat",
    "puffin", "tapir", "quokka", "gecko", "osprey", "civet", "dugong", "jackal",
    "mantis", "narwhal", "ocelot", "pika", "serval", "tamarin", "vole", "wombat",
    "yak", "zebu", "axolotl", "bison", "caiman", "dingo", "echidna", "ferret",
    "gibbon", "hyrax", "impala", "jerboa", "kudu", "lemur", "margay", "nutria",
    "okapi", "peccary",
)  # fmt: skip
LONG = 8_000
DECIDED = (
    "I'll use the {a} lock instead of a queue table, because {b} already holds one for each order.",
    "Decision: amounts are stored as integers of {a} units, never as floats like {b}.",
    "Going with {a} for the sync job: it keeps the order of {b} rows.",
    "We'll keep {a} out of this change; it belongs to {b}.",
    "The right approach is to compute {a} once at import, and never again in {b}.",
    "After weighing both, {a} wins over {b}: fewer writes.",
    "My plan: 1) freeze {a}, 2) backfill {b}, 3) drop the old column.",
    "Let's settle on {a} as the source of truth and treat {b} as a cache.",
    "Ich nehme {a} statt {b}, weil die Summen sonst doppelt zählen.",
    "I decided against {a}: it would need a lock on every {b} read.",
)
CODE = """```python
def total(rows):
    return sum(r["net"] for r in rows if r["kind"] != 'void')  # not `all`
```"""
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
    " a file edit, the new_string was NOT written to the file). To tell you how to proceed, the"
    " user said:\n{}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    kind: str
    needles: tuple[str, ...]
    """All of these, near each other where there are several."""
    behind: int = 0
    """How many compactions stand between it and the end."""
    words: str = ""
    """How it was said, where that varies."""

    def is_in(self, document: str) -> bool:
        first, *others = self.needles
        return any(
            all(
                re.search(other, document[max(0, at.start() - 400) : at.end() + 600], re.IGNORECASE)
                for other in others
            )
            for at in re.finditer(re.escape(first), document)
        )


@dataclass(slots=True)
class Plan:
    """What a transcript holds, and where it is."""

    path: Path
    facts: list[Fact] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """All the person's, oldest first."""
    closed: list[str] = field(default_factory=list)
    """Todo items that were done: they are not to be called open."""
    planted: list[str] = field(default_factory=list)
    """Those of the end that ask for something; between them may stand a "go on"."""


@dataclass(slots=True, kw_only=True)
class Story(Pastime):
    """One session as it is written."""

    plan: Plan
    compactions: int
    done: int = 0
    words: list[str] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)
    """What the next summary will say of what was planted."""
    new_tasks: bool = False
    todos: list[dict[str, str]] = field(default_factory=list)
    decided: list[str] = field(default_factory=list)

    def word(self) -> str:
        return self.words.pop()

    def fact(self, kind: str, *needles: str, words: str = "") -> None:
        behind = self.compactions - self.done
        self.plan.facts.append(Fact(kind=kind, needles=needles, behind=behind, words=words))

    def compact(self) -> None:
        kept = [line for line in self.summary if self.rng.random() < 0.5]
        kept += [f"Looked at {self.rng.choice(self.files)}: " + self.to.log(90) for _ in range(50)]
        told = "\n".join(f"- {line}" for line in kept)
        self.to.compact(
            "1. Primary Request and Intent:\nThe user works on a shop and asks for changes.\n\n"
            f"2. Key points:\n{told}\n\n3. Pending Tasks:\nContinue.\n\n4. Current Work:\nTests."
        )
        self.done += 1
        self.summary = []

    def first_request(self) -> None:
        a, b = self.word(), self.word()
        text = (
            f"Please move the {a} invoices to the new ledger. Keep the old export working until"
            f" {b} has switched, and do not touch the tax rules."
        )
        self.ask(text)
        self.fact("first request", text)

    def request(self, form: int) -> None:
        """As people write: other scripts, code, a picture, while it works, a whole log, a line."""
        word = self.word()
        text = (
            f"And «{word}»: die Beträge bitte gerundet, naïve → 日本語 ok? “Quotes” stay.",
            f"The {word} total is wrong. It should be:\n\n{CODE}\n\nUse that.",
            f"Is that the {word} screen? <b>See</b> the picture & answer.",
            f"while you are at it: keep {word}'s “draft” flag \\ as it is",
            f"Here is the log of the {word} run:\n{self.to.log(11_000)}\nFind out why it stops.",
            f"Now finish {word}, then stop and tell me.",
        )[form]
        self.ask(text, image=form == 2, busy=form == 3)
        self.plan.planted.append(text)
        self.fact("latest request", word)

    def todo(self, *, is_open: bool) -> None:
        subject = f"Check the {self.word()} totals against the ledger"
        status = "pending" if is_open else "completed"
        self.todos.append({"content": subject, "status": status, "activeForm": "Checking"})
        if self.new_tasks:
            given = {"subject": subject, "description": "", "activeForm": "Checking"}
            number = str(len(self.todos))
            use = self.to.call("TaskCreate", given)
            self.to.result(use, f"Task #{number} created successfully: {subject}",
                           {"task": {"id": number, "subject": subject}})  # fmt: skip
            if not is_open:
                self._update(number, "completed")
        else:
            use = self.to.call("TodoWrite", {"todos": self.todos})
            self.to.result(use, "Todos have been modified successfully. Ensure that you continue to"
                           " use the todo list to track your progress.",
                           {"oldTodos": self.todos[:-1], "newTodos": self.todos})  # fmt: skip
        if is_open:
            self.fact("open todo", subject)
        else:
            self.plan.closed.append(subject)

    def _update(self, number: str, status: str) -> None:
        use = self.to.call("TaskUpdate", {"taskId": number, "status": status})
        held = {"success": True, "taskId": number, "updatedFields": ["status"],
                "statusChange": {"from": "pending", "to": status}}  # fmt: skip
        self.to.result(use, f"Updated task #{number} status", held)

    def decision(self, *, approved: bool = False) -> None:
        a, b = self.word(), self.word()
        if approved:
            text = f"First migrate {a}, then drop the column of {b}."
            use = self.to.call("ExitPlanMode", {"plan": f"# Plan\n\n1. {text}\n2. Run tests."})
            self.to.result(use, "User has approved your plan. You can now start coding.",
                           {"plan": text, "isAgent": False})  # fmt: skip
        else:
            text = self.decided.pop().format(a=a, b=b)
            self.to.say(f"I read the callers and both ways would work.\n\n{text}")
        self.summary.append(text)
        self.fact("decision", a, words=text.replace(a, "{a}").replace(b, "{b}"))

    def answered(self) -> None:
        """The person's choice, given to a tool's question."""
        word, question = self.word(), "Which table should hold the totals?"
        options = [{"label": label, "description": "hold them there"} for label in ("orders", word)]
        asked = {"question": question, "header": "Table", "multiSelect": False, "options": options}
        given = {"questions": [asked]}
        use = self.to.call("AskUserQuestion", given)
        self.to.result(use, f'User has answered your questions: "{question}"="{word}". You can now'
                       " continue with the user's answers in mind.",
                       {**given, "answers": {question: word}})  # fmt: skip
        self.fact("answer to a question", word)

    def refused(self) -> None:
        """A tool the person did not allow, and what they said in its place."""
        said = f"no, leave that file alone and use the {self.word()} view instead"
        given = {"file_path": f"{self.to.cwd}/{self.rng.choice(self.files)}", "old_string": "a",
                 "new_string": "b", "replace_all": False}  # fmt: skip
        use = self.to.call("Edit", given)
        self.to.result(use, REJECTED.format(said), "User rejected tool use", error=True)
        self.fact("refusal with words", said)

    def instruction(self) -> None:
        """Asked once, in the middle, and meant for the rest."""
        word = self.word()
        self.ask(f"One more rule for all of this: never write to the {word} replica, only read it.")
        self.to.say("Understood.")
        self.fact("rule given between", word)

    def slash(self) -> None:
        word = self.word()
        self.to.told(
            "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
            f"<command-args>only the {word} part, please</command-args>"
        )
        self.to.meta("# Review\n\nYou are an expert reviewer. " + self.to.source(1_500))
        self.to.say("Reviewed; nothing to change.")
        self.fact("command with words", f"only the {word} part")

    def changed(self, *, new: bool) -> None:
        path = f"{self.to.cwd}/src/shop/{self.word()}_ledger.py"
        if new:
            self.to.write(path, self.to.source(1_500))
        else:
            self.to.edit(path, self.to.source(300), self.to.source(500), "Now this one.")
        self.fact("file changed", path.rpartition("/")[2])

    def changed_by_shell(self) -> None:
        path = f"src/shop/{self.word()}_rates.py"
        self.to.bash(f"sed -i 's/0.19/0.20/' {path} && git diff --stat", f" {path} | 2 +-")
        self.fact("file changed by a command", path.rpartition("/")[2])

    def was_read(self) -> None:
        path = f"{self.to.cwd}/docs/{self.word()}-notes.md"
        self.to.read(path, self.to.source(2_000))
        self.fact("file read", path.rpartition("/")[2])

    def command(self, form: int) -> None:
        word = self.word()
        match form:
            case 0:
                self.to.bash(f"make check-{word}", self.to.log(1_500), code=2)
                self.fact("command", f"check-{word}", r"exit(ed)?( with)?( code| status)? 2|fail|✗")
            case 1:
                output = self.to.log(2_000) + "\n=== 3 failed, 41 passed in 2.31s ==="
                self.to.bash(f"pytest tests/test_{word}.py -x", output, code=1)
                self.fact("command", f"test_{word}.py", r"exit.{0,12}1|fail|✗")
            case _:
                self.to.bash(f"git commit -qam 'Move {word} to the ledger' && git log -1 --oneline",
                             f"3f2a91c Move {word} to the ledger")  # fmt: skip
                self.fact("command", f"Move {word} to the ledger")

    def failed_attempt(self) -> None:
        a, b = self.word(), self.word()
        self.to.bash(f"python -m shop.migrate --engine {a}", f"engine {a}: not supported", code=3)
        self.to.say(
            f"Migrating with the {a} engine did not work: it cannot read the {b} dates. I reverted"
            " it and will write the rows directly."
        )
        self.summary.append(f"Migrating with the {a} engine failed: it cannot read {b} dates")
        self.fact("failed attempt", a, r"not support|did not work|fail|revert|exit|cannot")

    def error(self, form: int) -> None:
        word = self.word()
        if form == 0:
            trace = (
                "Traceback (most recent call last):\n"
                f'  File "/home/dev/work/shop/src/shop/{word}.py", line 88, in post\n'
                "    ledger.post(row)\n"
                f"shop.ledger.LedgerClosed: period {word}-2026 is closed"
            )
            self.to.bash("python -m shop.post --all", self.to.log(3_000) + "\n" + trace, code=1)
            self.fact("error", f"{word}-2026 is closed")
        else:
            path = f"{self.to.cwd}/config/{word}.toml"
            use = self.to.call("Read", {"file_path": path})
            told = f"File does not exist: {word}.toml"
            wrapped = f"<tool_use_error>{told}</tool_use_error>"
            self.to.result(use, wrapped, f"Error: {told}", error=True)
            self.fact("error", f"{word}.toml", "not exist|fail|error|missing|not found")

    def in_flight(self, form: int) -> None:
        word = self.word()
        match form:
            case 0:
                self.to.background(f"python -m shop.backfill --region {word}", f"Backfill {word}")
            case 1:
                self.to.agent_in_background(f"Audit the {word} invoices")
            case _:
                self.to.agent(f"Compare the {word} reports", None)
        self.fact("in flight", word)


def plant(path: Path, *, size: int, seed: int) -> Plan:
    """Write a transcript of about a size; what of it must be told."""
    rng = Random(f"{seed} {size}")
    compactions = 1 if size < 1_000_000 else 3 if size < 20_000_000 else 20
    plan = Plan(path=path)
    with path.open("w", encoding="utf-8") as out:
        story = Story(
            to=Writer(out=out, rng=rng), rng=rng, plan=plan, compactions=compactions,
            words=rng.sample([f"{a}-{b}" for a in ANIMALS for b in ANIMALS if a != b], 80),
            new_tasks=seed % 2 == 0,
            decided=rng.sample(DECIDED, len(DECIDED)),
            files=files_of(size),
            lengths=rng.choice(LENGTHS),
            requests=plan.requests,
        )  # fmt: skip
        _early(story, size)
        _late(story, size)
    return plan


def _early(story: Story, size: int) -> None:
    """Everything before the last compaction."""
    last = int(size * (0.7 if size < 1_000_000 else 0.9 if size < 20_000_000 else 0.97))
    story.first_request()
    story.decision(approved=True)
    story.todo(is_open=True)
    story.todo(is_open=False)
    story.changed(new=True)
    for at in range(1, story.compactions):
        story.fill(last * at // story.compactions)
        story.compact()
    story.instruction()
    story.fill(last - size // 20)
    story.changed(new=False)
    story.todo(is_open=True)
    story.in_flight(0)
    story.decision()
    story.answered()
    story.refused()
    story.failed_attempt()
    story.request(0)
    story.fill(last)
    story.compact()


def _late(story: Story, size: int) -> None:
    """The context at the end."""
    gap = (size - story.to.size) // 8
    steps: list[Callable[[], None]] = [
        story.decision,
        story.decision,
        story.was_read,
        story.was_read,
        story.answered,
        story.refused,
        story.slash,
        story.changed_by_shell,
        story.failed_attempt,
        partial(story.changed, new=True),
        partial(story.changed, new=False),
        partial(story.error, 1),
        partial(story.in_flight, 1),
        partial(story.todo, is_open=True),
        partial(story.todo, is_open=True),
        partial(story.todo, is_open=False),
    ]
    story.rng.shuffle(steps)
    story.chatty = story.rng.random() < 0.5
    for at, step in enumerate(steps):
        if at % 3 == 0:
            story.fill(story.to.size + gap)
        step()
    forms = [1, 2, 3, 4, 5]
    story.rng.shuffle(forms)
    ends: list[Callable[[], None]] = [
        partial(story.command, 0),
        partial(story.command, 1),
        partial(story.error, 0),
        partial(story.command, 2),
        partial(story.in_flight, 2),
    ]
    for form, end in zip(forms, ends, strict=True):
        if form == 3:
            story.to.say("Working on it.", stop="tool_use")
        story.request(form)
        story.fill(story.to.size + gap // 2)
        end()
