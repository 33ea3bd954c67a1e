"""What passes the time in a transcript: reading, editing, commands, now and then a word.

None of it is worth telling; all of it stands between the things that are.
"""

from dataclasses import dataclass, field
from random import Random

from tests.kit.foreign_transcript import CAVEAT, Writer

MODULES = [f"src/shop/{name}" for name in (
    "cart", "orders", "prices", "stock", "mail", "users", "search", "tax", "export", "report",
    "api", "cache", "jobs", "models", "views", "forms", "urls", "admin", "events", "money",
)]  # fmt: skip
CHAT = (
    "Let me look at how this is used.", "The tests pass now.", "Next, the callers.",
    "That explains it: the cache is filled before the settings are read.",
    "I'll look at the parser next.", "Let me run the tests.", "Good, that works.",
    "Now I will update the imports.", "Reading the rest of the file.",
)  # fmt: skip
ASKED = (
    "thanks, go on", "can you also run the linter?", "why is this slow?", "looks good",
    "please add a test for the empty cart", "rename that to something clearer", "continue",
)  # fmt: skip
COMMANDS = ("pytest -q", "git status", "git diff --stat", "ls src/shop", "ruff check .",
            "grep -rn total src", "python -m shop.report")  # fmt: skip
LENGTHS = ((800, 4_000, 9_000, 24_000), (150, 600, 1_500, 6_000))
"""Of results: sessions that read much at once, and sessions of many small steps."""


@dataclass(slots=True)
class Pastime:
    """A session in which nothing happens."""

    to: Writer
    rng: Random
    files: list[str]
    requests: list[str] = field(default_factory=list)
    """All the person's, oldest first."""
    chatty: bool = True
    """The person says a word now and then."""
    lengths: tuple[int, ...] = LENGTHS[0]

    def ask(self, text: str, *, image: bool = False, busy: bool = False) -> None:
        if busy:
            self.to.ask_while_busy(text)
        else:
            self.to.ask(text, image=image)
        self.requests.append(text)

    def fill(self, until: int) -> None:
        while self.to.size < until:
            self._turn(until)

    def _turn(self, until: int) -> None:
        if self.chatty and self.rng.random() < 0.15:
            self.ask(self.rng.choice(ASKED))
        for _ in range(self.rng.randrange(2, 9)):
            if self.to.size >= until:
                return
            self._step(min(self.rng.choice(self.lengths), until // 30))
        if self.rng.random() < 0.1:
            self._odd()
        self.to.say(self.rng.choice(CHAT))
        self.to.turn_ended()

    def _step(self, length: int) -> None:
        path = f"{self.to.cwd}/{self.rng.choice(self.files)}"
        match self.rng.randrange(10):
            case 0 | 1 | 2:
                self.to.read(path, self.to.source(length))
            case 3 | 4:
                self.to.edit(path, self.to.source(300), self.to.source(400), self._chat())
            case 5:
                given = {"pattern": "total", "path": "src"}
                use = self.to.call("Grep", given, thought=self.to.source(length // 8))
                self.to.result(use, self.to.log(length // 2), {"mode": "content", "numFiles": 3})
            case 6 if self.rng.random() < 0.2:
                self.to.agent("Look through the logs", "Nothing unusual: " + self.to.log(900))
            case _:
                code = 1 if self.rng.random() < 0.04 else 0
                command = self.rng.choice(COMMANDS)
                self.to.bash(command, self.to.log(length), code=code, thought=self._thought(length))

    def _chat(self) -> str:
        return self.rng.choice(CHAT) if self.rng.random() < 0.4 else ""

    def _thought(self, length: int) -> str:
        return "Hmm. " + self.to.source(length // 10) if self.rng.random() < 0.3 else ""

    def _odd(self) -> None:
        match self.rng.randrange(5):
            case 0:
                self.to.meta(CAVEAT)
                self.to.told(
                    "<command-name>/cost</command-name>\n            <command-message>cost"
                    "</command-message>\n            <command-args></command-args>"
                )
                self.to.told("<local-command-stdout>Total cost: $1.23</local-command-stdout>")
            case 1:
                self.to.told("[Request interrupted by user]")
            case 2:
                use, task = self.to.background("npm run build", "Build the front end")
                self.to.finished(use, task, "Build the front end")
            case 3:
                self.to.record(
                    "user", isSidechain=True, agentId="a597c166e1f419d12",
                    message={"role": "user", "content": "Search the repository for callers."},
                )  # fmt: skip
            case _:
                held = {"type": "task_reminder", "content": [], "itemCount": 0}
                self.to.record("attachment", attachment=held)


def files_of(size: int) -> list[str]:
    """What a session of this length touches: some twenty files, or two hundred."""
    each = 1 if size < 1_000_000 else 3 if size < 20_000_000 else 10
    return [f"{module}{at or ''}.py" for module in MODULES for at in range(each)]
