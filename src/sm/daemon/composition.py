"""The engine with everything it needs, the same for the daemon and for a wrapped agent."""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sm.adapters.agents import Dialects
from sm.adapters.archive.render import render, tail
from sm.adapters.archive.snapshots import SnapshotFolders
from sm.adapters.folders import SessionFolders
from sm.adapters.handoffs.folders import HandoffFolders
from sm.adapters.inbox import Inboxes
from sm.adapters.notify.book import NoticeBook
from sm.adapters.notify.person import Person
from sm.adapters.system import ExitWatch, ProcessTable, SystemClock
from sm.core.crash import RecoveryRules
from sm.core.ids import SessionId
from sm.core.message import Route
from sm.core.state import Limit, Thresholds, WalkAway
from sm.daemon.tokens import Tokens
from sm.engine.actor import Log
from sm.engine.engine import Engine, HandoffRules
from sm.engine.ports import Channels, Store, Terminal
from sm.engine.recoveries import RecoveryTerms
from sm.engine.snapshots import SnapshotRules
from sm.settings.config import (
    ContextMonitor,
    RecoverySettings,
    Settings,
    crash_budget,
    expanded,
    percent,
    seconds,
    size,
)
from sm.settings.home import Home

if TYPE_CHECKING:
    from sm.redaction.redactor import Redactor

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
    run_name: Callable[[str], str | None],
    run_names: Callable[[], Mapping[str, str]],
    restarts: int | None = None,
) -> Engine:
    """``restarts``: how often at most a session is handed over when nobody is there. Its agent is
    started again each time, from what is kept of its start."""
    folders = SessionFolders(
        home, keeps_environment=settings.recovery.keep_environment or restarts is not None
    )
    tokens = Tokens(home, folders)
    redact, redact_shown = _redaction(settings)
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
        redact_shown=redact_shown,
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
        recovery_terms=_recovery_terms(settings.recovery),
        render=render,
        tail=tail,
        inbox=Inboxes(folders),
        routes=routes,
        thresholds=_thresholds(settings.context_monitor),
        hook_url=hook_url,
        run_name=run_name,
        run_names=run_names,
        snapshots=SnapshotFolders(_snapshot_folder(settings.recovery, folders)),
        snapshot_rules=SnapshotRules(
            enabled=settings.recovery.enabled,
            interval=seconds(settings.recovery.snapshot_interval),
            lines=settings.recovery.max_context_lines,
        ),
    )


def _snapshot_folder(
    recovery: RecoverySettings, folders: SessionFolders
) -> Callable[[SessionId], Path]:
    """Where each session's snapshots are."""
    if recovery.snapshot_dir:
        place = Path(expanded(recovery.snapshot_dir))
        return lambda session: place / session
    return lambda session: folders.folder(session) / "snapshots"


def allowed_routes(settings: Settings) -> Routes:
    """The routes the configuration leaves on for an agent."""
    routes = settings.delivery.routes

    def of(agent: str) -> Collection[Route]:
        return [Route(name) for name in routes[agent]] if agent in routes else list(Route)

    return of


def _redaction(settings: Settings) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """Texts without secrets; and the same of what a terminal showed: those that it has cut at its
    edge are found, too, and now and then the word behind such an edge goes with them.

    Both are called in threads. The rules are loaded with the first text.
    """

    @cache
    def rules() -> "Redactor":
        from sm.redaction.redactor import Redactor

        return Redactor(patterns=settings.redaction.patterns)

    return lambda text: rules().redact(text), lambda text: rules().redact_shown(text)


def _recovery_terms(recovery: RecoverySettings) -> RecoveryTerms:
    crashes, within = crash_budget(recovery.crash_budget)
    # Without its environment, no agent can be brought back unasked.
    is_auto = recovery.auto_recover and recovery.keep_environment
    return RecoveryTerms(
        rules=RecoveryRules(enabled=recovery.enabled, auto=is_auto, crashes=crashes, within=within),
        at_once=recovery.at_once,
        max_lines=recovery.max_context_lines,
        budget=percent(recovery.context_budget),
        template=recovery.prompts.template,
    )


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
