"""The engine with everything it needs, the same for the daemon and for a wrapped agent."""

from collections.abc import Callable, Collection

from sm.adapters.agents import Dialects
from sm.adapters.archive.render import render
from sm.adapters.folders import SessionFolders
from sm.adapters.handoffs.folders import HandoffFolders
from sm.adapters.inbox import Inboxes
from sm.adapters.notify.book import NoticeBook
from sm.adapters.notify.person import Person
from sm.adapters.system import ExitWatch, ProcessTable, SystemClock
from sm.core.ids import SessionId
from sm.core.message import Route
from sm.core.state import Limit, Thresholds, WalkAway
from sm.daemon.tokens import Tokens
from sm.engine.actor import Log
from sm.engine.engine import Engine, HandoffRules
from sm.engine.ports import Channels, Store, Terminal
from sm.settings.config import ContextMonitor, Settings, percent, seconds, size
from sm.settings.home import Home

Routes = Callable[[str], Collection[Route]]


def compose(
    home: Home,
    settings: Settings,
    *,
    store: Store,
    terminal: Terminal,
    processes: ProcessTable,
    routes: Routes,
    hook_url: Callable[[SessionId], str | None],
    log: Log,
    channels: Channels,
    restarts: int | None = None,
) -> Engine:
    """``restarts``: how often at most a session is handed over when nobody is there."""
    folders = SessionFolders(home)
    tokens = Tokens(home, folders)
    redact = _redactor(settings)
    rules = settings.handoff
    return Engine(
        store=store,
        terminal=terminal,
        dialects=Dialects(),
        processes=processes,
        exits=ExitWatch(processes),
        folders=folders,
        clock=SystemClock(),
        log=log,
        identity=tokens.identity,
        token=tokens.of_session,
        redact=redact,
        handoffs=HandoffFolders(folders.folder, redact=redact),
        channels=channels,
        notices=Person(
            NoticeBook(home.notices),
            show=terminal.tell,
            command=settings.notify.command,
            redact=redact,
            log=log,
        ),
        handoff_rules=HandoffRules(
            largest_document=size(rules.max_document),
            teach_agents=rules.teach_agents,
            expiry=seconds(rules.expiry),
            walkaway=WalkAway(
                deadline=seconds(rules.deadline), cooldown=seconds(rules.cooldown), limit=restarts
            ),
        ),
        render=render,
        inbox=Inboxes(folders),
        routes=routes,
        thresholds=_thresholds(settings.context_monitor),
        hook_url=hook_url,
    )


def allowed_routes(settings: Settings) -> Routes:
    """The routes the configuration leaves on for an agent."""
    routes = settings.delivery.routes

    def of(agent: str) -> Collection[Route]:
        return [Route(name) for name in routes[agent]] if agent in routes else list(Route)

    return of


def _redactor(settings: Settings) -> Callable[[str], str]:
    def redact(text: str) -> str:
        """Without secrets. Called in threads, and seldom: made anew, the rules need not stay."""
        from sm.redaction.redactor import Redactor

        return Redactor(patterns=settings.redaction.patterns).redact(text)

    return redact


def _thresholds(monitor: ContextMonitor) -> Thresholds:
    return Thresholds(
        enabled=monitor.enabled,
        early=_limit(monitor.early_threshold),
        warning=_limit(monitor.warning_threshold),
        critical=_limit(monitor.critical_threshold),
        tool_count=monitor.fallback_tool_count,
        every=monitor.check_frequency,
    )


def _limit(given: str | int) -> Limit:
    return Limit(tokens=given) if isinstance(given, int) else Limit(percent=percent(given))
