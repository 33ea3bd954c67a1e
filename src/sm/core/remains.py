"""What is left of a session whose agent died, as a value: everything there is to tell it again.

Read and cleaned of secrets by others; how it is told is not known here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sm.core.crash import Crash
from sm.core.exchange import SM, Exchange, Role
from sm.core.story import Request, Story

CRASHED = "Your session crashed"
"""How a resumed agent is told so."""
AT_WORK = "You were working on a task when your session crashed"
AFRESH = "sm has started you again, in a fresh context"
"""How an agent in a fresh context is told so."""
WENT_ON = Exchange(
    role=Role.ASKED, sender=SM, text=f"{CRASHED} here, and you went on in a fresh context."
)
"""In the place of all it was told then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a terminal showed, where no better record tells of the conversation."""

    source: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    name: str
    context: int
    """Its number."""
    cwd: str
    crash: Crash
    now: float
    transcript: str = ""
    """Where the whole of it is; empty where there is none."""
    exchanges: tuple[Exchange, ...] = ()
    source: str = ""
    """What the exchanges were read from, if it is no transcript."""
    is_older: bool = False
    """The exchanges are of an older context: what was open at their end may be done since."""
    story: Story = field(default_factory=Story)
    carried: tuple[Request, ...] = ()
    """What was asked before the exchanges begin."""
    delivered: tuple[Request, ...] = ()
    """What sm itself gave the agent in the turn that was cut."""
    unrecorded: tuple[str, ...] = ()
    """Messages the agent had taken, and its record lacks."""
    shown: Shown | None = None
    handoff: str = ""
    """The last handoff's document."""
    handoff_id: str = ""
    handoff_path: str = ""
    taken_by: str = ""
    """Who was given the handoff that the crash has cut, if somebody else was."""
    git: str = ""
    survivors: tuple[str, ...] = ()
    """Processes of the dead agent that still run, each in a few words."""
    background: tuple[str, ...] = ()
    """Tasks the agent had told of as running."""

    @property
    def given(self) -> tuple[Exchange, ...]:
        """All but what was typed and never reached the agent."""
        return tuple(e for e in self.exchanges if not e.is_waiting)

    @property
    def waiting(self) -> tuple[Exchange, ...]:
        return tuple(e for e in self.exchanges if e.is_waiting and not self.is_older)

    @property
    def cut(self) -> tuple[Exchange, ...]:
        """Calls that nothing tells the end of."""
        return tuple(e for e in self._latest if e.is_cut)

    @property
    def unwritten(self) -> tuple[Exchange, ...]:
        """Calls that ended, as the agent's hooks told, and its record does not say so."""
        return tuple(e for e in self._latest if e.is_unwritten)

    @property
    def _latest(self) -> tuple[Exchange, ...]:
        """After the last request, or after the agent was last told what an earlier crash had cut:
        what was before that is long over."""
        given = () if self.is_older else self.given
        last = max((n for n, e in enumerate(given) if e.is_request or _is_note(e)), default=0)
        return given[last:]

    @property
    def unanswered(self) -> Exchange | None:
        """The last request, if nothing came after it."""
        given = () if self.is_older else self.given
        return given[-1] if given and given[-1].is_request else None

    @property
    def is_open(self) -> bool:
        """Whether there is anything to go on with."""
        crash = self.crash
        is_cut = crash.busy or crash.dialog or crash.handoff or self.cut or self.unanswered
        return bool(is_cut or self.unwritten or self.unrecorded or self.waiting)

    def mapped(self, change: Callable[[str], str]) -> "Remains":
        """With every text in it changed, each as a whole and always in the same order."""

        def lines(texts: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(change("\n".join(texts)).split("\n"))

        def requests(asked: tuple[Request, ...]) -> tuple[Request, ...]:
            return tuple(replace(one, text=change(one.text)) for one in asked)

        story, crash, shown = self.story, self.crash, self.shown
        return replace(
            self,
            crash=replace(
                crash,
                words=change(crash.words),
                dialog=None if crash.dialog is None else change(crash.dialog),
            ),
            exchanges=tuple(_mapped(one, change) for one in self.exchanges),
            story=replace(
                story,
                todos=tuple(replace(one, text=change(one.text)) for one in story.todos),
                unfinished=tuple(replace(u, what=change(u.what)) for u in story.unfinished),
            ),
            carried=requests(self.carried),
            delivered=requests(self.delivered),
            unrecorded=tuple(change(text) for text in self.unrecorded),
            shown=None if shown is None else replace(shown, lines=lines(shown.lines)),
            handoff=change(self.handoff),
            git=change(self.git),
            survivors=tuple(change(process) for process in self.survivors),
            background=tuple(change(task) for task in self.background),
        )


def without_told(exchanges: tuple[Exchange, ...]) -> tuple[Exchange, ...]:
    """But for what a fresh context was told of those before it, where that stands first."""
    told = next((n for n, e in enumerate(exchanges) if _is_told(e)), None)
    return exchanges if told is None else exchanges[told + 1 :]


def _is_told(exchange: Exchange) -> bool:
    is_ours = exchange.role is Role.ASKED and exchange.sender == SM
    return is_ours and exchange.text.startswith((f"{AT_WORK}. {AFRESH}", f"{CRASHED}. {AFRESH}"))


def _is_note(exchange: Exchange) -> bool:
    return exchange.role is Role.ASKED and exchange.text.startswith(CRASHED)


def _mapped(exchange: Exchange, change: Callable[[str], str]) -> Exchange:
    result = exchange.result
    if result is not None and result.output:
        result = replace(result, output=change(result.output))
    return replace(exchange, text=change(exchange.text), result=result)
