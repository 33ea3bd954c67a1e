"""Looking at what an agent left behind, in the small world."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from sm.core.crash import Cause
from sm.core.events import AgentExited, PaneSeen, TerminalLost
from sm.core.ids import SessionId
from sm.core.state import Adoption, Session
from sm.core.terminal import Server
from sm.engine.adoption import Adopter
from sm.engine.inquest import LEAVES_WITHIN, Inquest
from sm.engine.launcher import Launcher
from tests.core.samples import ADA, IDLE, brought_back
from tests.engine.agent import STARTED, Agent
from tests.engine.dialects import ScriptedDialects
from tests.engine.folders import NoFolders
from tests.engine.timelapse import NOON, LoopClock
from tests.engine.world import ProcessTable, World

HOUR = 3600.0


class Scene:
    """ada, started an hour ago, and whoever asks after her."""

    def __init__(self) -> None:
        clock = LoopClock()
        self.world = World(clock.now)
        self.processes = ProcessTable(self.world)
        self.ada: Agent = self.world.add(ADA)
        dialects, folders = ScriptedDialects(self.world), NoFolders()
        self.inquest = Inquest(self.world, self.processes, clock)
        self.adopter = Adopter(self.world, dialects, self.processes, folders, self.inquest)
        self.launcher = Launcher(
            self.world, self.processes, folders, dialects, lambda _: None, clock
        )
        self.session: Session = replace(IDLE, pane=self.ada.pane, launched_at=NOON - HOUR)

    def adopt(self) -> None:
        """She was somebody else's, found in a shell's pane."""
        self.ada.in_shell = True
        self.session = replace(self.session, adoption=Adoption(pane=self.ada.pane, logged=True))

    async def ended(self) -> AgentExited:
        """Her end; she must have ended."""
        event = await self.launcher.check(self.session)
        assert isinstance(event, AgentExited)
        return event

    async def cause(self) -> tuple[Cause, str]:
        """As her end tells it, and as it is told later to whoever brings her back."""
        end, later = await self.ended(), await self.inquest.of(self.session)
        assert (later[0], later[1][-len(end.evidence) :]) == (end.cause, end.evidence)
        return end.cause, end.evidence


@pytest.fixture
async def scene() -> Scene:
    return Scene()


def killed(scene: Scene) -> None:
    scene.ada.dead, scene.ada.exit_signal = True, 9


def out_of_memory(scene: Scene) -> None:
    killed(scene)
    scene.ada.memory = "the kernel took it"


def pane_closed(scene: Scene) -> None:
    scene.ada.dead = scene.ada.gone = True


def pane_closed_and_she_lives(scene: Scene) -> None:
    scene.ada.gone = True


def respawned(scene: Scene) -> None:
    scene.ada.dead, scene.ada.replaced_by = True, "bash"


def respawned_and_she_lives(scene: Scene) -> None:
    scene.ada.replaced_by = "bash"


def respawned_and_over(scene: Scene) -> None:
    """The shell that was put there has ended well."""
    respawned(scene)
    scene.ada.exit_status = 0


def later_server(scene: Scene) -> None:
    pane_closed(scene)
    scene.world.server_tick = STARTED + 1


def later_server_and_she_lives(scene: Scene) -> None:
    scene.ada.gone = True
    scene.world.server_tick = STARTED + 1


def no_server(scene: Scene) -> None:
    pane_closed(scene)
    scene.world.server = None


def silence_and_she_is_gone(scene: Scene) -> None:
    pane_closed(scene)
    scene.world.silent = True


def rebooted(scene: Scene) -> None:
    later_server(scene)
    scene.processes.booted = NOON - 60
    scene.world.server = Server(pid=50, started=int(NOON - 30), socket_path="/tmp/tmux")


def clock_set(scene: Scene) -> None:
    """The boot seems to be later than her start, but her server is from before it."""
    pane_closed(scene)
    scene.processes.booted = NOON - 60
    scene.world.server = Server(pid=50, started=int(NOON - 7200), socket_path="/tmp/tmux")


def unstartable(scene: Scene) -> None:
    scene.ada.lines = ("", "sm could not start the agent: [Errno 2] no claude", "")
    scene.ada.die(status=127)


def limited(scene: Scene) -> None:
    scene.ada.die(status=1)
    scene.session = replace(scene.session, failure="rate_limit", turn_ended_at=NOON - 59)


def limited_long_ago(scene: Scene) -> None:
    limited(scene)
    scene.session = replace(scene.session, turn_ended_at=NOON - 61)


def limited_before_it_was_started_again(scene: Scene) -> None:
    limited(scene)
    scene.session = replace(scene.session, launched_at=NOON - 30)


def limited_before_it_was_brought_back(scene: Scene) -> None:
    limited(scene)
    scene.session = brought_back(scene.session, at=NOON - 30)


def failed_otherwise(scene: Scene) -> None:
    limited(scene)
    scene.session = replace(scene.session, failure="invalid_request")


CASES: list[tuple[Callable[[Scene], None], Cause, str]] = [
    (killed, Cause.SIGNAL, "pane %1 is dead"),
    (out_of_memory, Cause.MEMORY, "the kernel took it"),
    (pane_closed, Cause.PANE, "pane %1 is gone"),
    (pane_closed_and_she_lives, Cause.PANE, "pane %1 is gone, its process lives on"),
    (respawned, Cause.SHELL, "bash (process 401) is where the agent was, in pane %1"),
    (
        respawned_and_she_lives,
        Cause.SHELL,
        "bash (process 401) is where the agent was, in pane %1, its process lives on",
    ),
    (respawned_and_over, Cause.SHELL, "bash (process 401) is where the agent was, in pane %1"),
    (later_server, Cause.SERVER, "its tmux server ended: the one that answers is a later one"),
    (
        later_server_and_she_lives,
        Cause.SERVER,
        "its tmux server ended: the one that answers is a later one, its process lives on",
    ),
    (no_server, Cause.SERVER, "its tmux server ended: none listens on its socket"),
    (silence_and_she_is_gone, Cause.UNKNOWN, "process 101 is gone"),
    (rebooted, Cause.REBOOT, "the host was started anew 59 minutes after the agent"),
    (clock_set, Cause.PANE, "pane %1 is gone"),
    (
        unstartable,
        Cause.START,
        "pane %1 is dead: sm could not start the agent: [Errno 2] no claude",
    ),
    (
        limited,
        Cause.LIMIT,
        "pane %1 is dead, just after its model's service refused it: rate_limit",
    ),
    (limited_long_ago, Cause.EXIT, "pane %1 is dead"),
    (limited_before_it_was_started_again, Cause.EXIT, "pane %1 is dead"),
    (limited_before_it_was_brought_back, Cause.EXIT, "pane %1 is dead"),
    (failed_otherwise, Cause.EXIT, "pane %1 is dead"),
]


@pytest.mark.parametrize(("happens", "cause", "words"), CASES)
async def test_an_end_is_told_with_its_cause(
    scene: Scene, happens: Callable[[Scene], None], cause: Cause, words: str
) -> None:
    """At once, and the same when somebody asks later."""
    happens(scene)

    assert await scene.cause() == (cause, words)


async def test_the_exit_of_whatever_took_her_pane_is_not_hers(scene: Scene) -> None:
    """A shell that ended with 0 would make her end look intended."""
    respawned_and_over(scene)

    end = await scene.ended()

    assert (end.status, end.signal) == (None, None)


async def test_an_agent_that_tidies_up_is_given_the_time(scene: Scene) -> None:
    """Its pane is gone; its last hooks still run, and it ends by itself."""
    scene.ada.gone = True
    checking = asyncio.create_task(scene.ended())
    await asyncio.sleep(LEAVES_WITHIN - 0.5)
    assert not checking.done()
    scene.ada.dead = True

    assert (await checking).evidence == "pane %1 is gone"


@pytest.mark.parametrize(
    ("number", "status", "words"),
    [
        (9, None, "signal 9 (SIGKILL) ended it: pane %1 is dead"),
        (None, 3, "it ended with exit code 3: pane %1 is dead"),
    ],
)
async def test_whoever_brings_her_back_is_told_in_words(
    scene: Scene, number: int | None, status: int | None, words: str
) -> None:
    scene.ada.dead, scene.ada.exit_signal, scene.ada.exit_status = True, number, status

    assert (await scene.inquest.of(scene.session))[1] == words


async def test_one_that_never_had_a_pane_says_so(scene: Scene) -> None:
    told = await scene.inquest.of(replace(scene.session, pane=None))

    assert told == (Cause.UNKNOWN, "it has no pane")


async def test_a_restored_session_of_her_name_is_no_agent(scene: Scene) -> None:
    """After the server's end a plugin made it anew, with a shell in it."""
    later_server(scene)
    scene.world.restored["ada"] = "bash"

    cause, words = await scene.cause()

    assert cause is Cause.SERVER
    assert words.endswith("; tmux session ada was made anew, with bash in it")


async def test_what_is_left_of_her_session_was_not_made_anew(scene: Scene) -> None:
    """Its server is the same: a person's own window is in it."""
    pane_closed(scene)
    scene.world.restored["ada"] = "bash"

    cause, words = await scene.cause()

    assert cause is Cause.PANE
    assert "made anew" not in words


async def test_a_later_agent_of_her_name_is_no_restored_session(scene: Scene) -> None:
    """It is another session of sm, and nobody's leftover."""
    later_server(scene)
    scene.world.restored["ada"], scene.world.restored_for = "claude", SessionId("ada2")

    assert "made anew" not in (await scene.cause())[1]


# --- what is no end --------------------------------------------------------------------------


async def test_a_stopped_agent_has_not_ended(scene: Scene) -> None:
    """Somebody's Ctrl-Z, or a long wait: nobody but a person knows."""
    scene.ada.stopped = True

    assert isinstance(await scene.launcher.check(scene.session), PaneSeen)


async def test_silence_is_no_end(scene: Scene) -> None:
    scene.world.silent = True

    assert isinstance(await scene.launcher.check(scene.session), TerminalLost)


async def test_a_living_pane_is_believed_more_than_the_clock(scene: Scene) -> None:
    """Somebody set the clock: her tmux server would not have outlived a reboot."""
    scene.processes.booted = NOON - 60

    assert isinstance(await scene.launcher.check(scene.session), PaneSeen)


async def test_after_a_reboot_her_process_is_known_by_her_mark(scene: Scene) -> None:
    """With a silent tmux, a process that carries the session's id is hers all the same."""
    scene.processes.booted, scene.world.silent = NOON - 60, True

    assert isinstance(await scene.launcher.check(scene.session), TerminalLost)


async def test_after_a_reboot_her_number_and_start_may_be_anothers(scene: Scene) -> None:
    """A process without her mark is not she."""
    scene.processes.booted, scene.world.silent = NOON - 60, True
    scene.ada.owner = ADA

    assert await scene.cause() == (
        Cause.REBOOT,
        "the host was started anew 59 minutes after the agent",
    )


async def test_a_session_of_an_older_release_was_started_when_it_was_made(scene: Scene) -> None:
    """Its row does not tell when its agent was started."""
    rebooted(scene)
    scene.session = replace(scene.session, launched_at=0.0, created_at=NOON - HOUR)

    assert (await scene.cause())[0] is Cause.REBOOT
    scene.processes.booted = NOON - 2 * HOUR
    assert (await scene.cause())[0] is Cause.SERVER


async def test_a_server_without_a_process_is_judged_by_its_own_time(scene: Scene) -> None:
    """Where the process table does not show it, tmux's word is all there is."""
    pane_closed(scene)
    scene.world.server = Server(pid=50, started=int(NOON), socket_path="/tmp/tmux")
    scene.world.server_tick = None

    assert (await scene.cause())[0] is Cause.SERVER


async def test_a_server_that_does_not_say_who_it_is_is_no_evidence(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pane is gone, and nobody knows whether the server is another."""
    pane_closed(scene)
    view = await scene.world.look(scene.ada.pane.id)
    scene.world.silent = True

    end = await scene.inquest.exited(scene.session, view)

    assert (end.cause, end.evidence) == (Cause.UNKNOWN, "pane %1 is gone")


# --- adopted ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("happens", "cause", "words"),
    [
        (killed, Cause.UNKNOWN, "process 101 is gone"),
        (out_of_memory, Cause.MEMORY, "the kernel took it"),
        (pane_closed, Cause.UNKNOWN, "process 101 is gone, and pane %1 with it"),
        (pane_closed_and_she_lives, Cause.PANE, "pane %1 is gone, its process lives on"),
        (no_server, Cause.SERVER, "its tmux server ended: none listens on its socket"),
        (rebooted, Cause.REBOOT, "the host was started anew 59 minutes after the agent"),
        (limited, Cause.LIMIT, ""),
    ],
)
async def test_the_end_of_an_adopted_agent_is_told_as_far_as_it_is_known(
    scene: Scene, happens: Callable[[Scene], None], cause: Cause, words: str
) -> None:
    """Its pane is a person's shell, and its exit code nobody's to know."""
    scene.ada.waits = True
    scene.adopt()
    happens(scene)

    end = await scene.ended()

    assert (end.cause, end.evidence, end.status) == (cause, words or end.evidence, None)
    assert not end.left


async def test_a_pane_that_was_an_adopted_agents_own_tells_how_it_ended(scene: Scene) -> None:
    """Somebody started it there without a shell."""
    scene.ada.waits = True
    scene.adopt()
    scene.ada.in_shell = False
    scene.ada.die(status=3)

    end = await scene.ended()

    assert (end.cause, end.status, end.left) == (Cause.EXIT, 3, False)


async def test_a_clock_that_was_set_ends_no_adopted_agent(scene: Scene) -> None:
    """With a silent tmux, one of its kind at its very number and start is it."""
    stranger = scene.world.add(SessionId("stranger"))
    session = replace(
        scene.session, pane=stranger.pane, adoption=Adoption(pane=stranger.pane, logged=True)
    )
    scene.processes.booted, scene.world.silent = NOON - 60, True

    assert isinstance(await scene.launcher.check(session), TerminalLost)
    stranger.dead = True
    assert isinstance(await scene.launcher.check(session), AgentExited)


async def test_a_reboot_is_no_leave_taken(scene: Scene) -> None:
    """The shutdown ended it gently, so that it removed its own file; nobody meant to end it."""
    scene.adopt()
    rebooted(scene)

    end = await scene.ended()

    assert (end.cause, end.left) == (Cause.REBOOT, False)
    scene.processes.booted = None
    assert (await scene.ended()).left
