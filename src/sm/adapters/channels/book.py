"""The channels of one home, as the engine asks for them: registry and ledger together.

Opened when first asked: a ledger that cannot be used is nobody's reason not to start.
"""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from sm.adapters.channels.finding import find_place
from sm.adapters.channels.ledger import Ledger
from sm.core.channel import (
    Channel,
    ChannelHandoff,
    Claimant,
    NewHandoff,
    Refusal,
    Why,
    checked_name,
)
from sm.core.ids import HandoffId, SessionId

PATIENCE = 2.0
"""Seconds: a ledger that somebody holds must not keep an agent from its next context."""


class ChannelBook:
    """Fits the engine's ``Channels``."""

    def __init__(self, folder: Path, registry: Mapping[str, str], fixed: str | None = None) -> None:
        """``fixed``: a name that was asked for, wherever the work is done."""
        self._folder = folder
        self._registry = registry
        self._fixed = checked_name(fixed) if fixed is not None else None
        self._opened: Ledger | None = None
        self._turn = threading.Lock()
        self._known: dict[str, Channel] = {}

    @property
    def _ledger(self) -> Ledger:
        with self._turn:
            if self._opened is None:
                self._opened = Ledger(self._folder, busy_seconds=PATIENCE)
            return self._opened

    def close(self) -> None:
        with self._turn:
            if self._opened is not None:
                self._opened.close()

    def of(self, cwd: str) -> Channel:
        known = self._known.get(cwd)
        if known is None:
            known = self._known[cwd] = self._find(cwd)
        return known

    def _find(self, cwd: str) -> Channel:
        place = find_place(Path(cwd), self._registry)
        name = self._fixed or place.registered
        if name is not None:
            return Channel(name=name, root=place.root, why=Why.REGISTERED)
        return self._ledger.channel(place, tuple(self._registry.values()))

    def create(self, new: NewHandoff) -> ChannelHandoff:
        return self._ledger.create(new)

    def claim(
        self, handoff: HandoffId, claimant: Claimant, *, now: float, expiry: float
    ) -> ChannelHandoff | Refusal:
        return self._ledger.claim(handoff, claimant, now=now, expiry=expiry)

    def claim_from(
        self,
        channel: str,
        claimant: Claimant,
        *,
        now: float,
        expiry: float,
        explicitly: bool = False,
    ) -> ChannelHandoff | Refusal:
        return self._ledger.claim_from(
            channel, claimant, now=now, expiry=expiry, explicitly=explicitly
        )

    def consume(self, handoff: HandoffId, by: SessionId, at: float) -> ChannelHandoff | Refusal:
        return self._ledger.consume(handoff, by, at)

    def clear(
        self, *, channel: str | None = None, handoff: HandoffId | None = None, at: float
    ) -> list[ChannelHandoff]:
        return self._ledger.clear(channel=channel, handoff=handoff, at=at)

    def release(self, handoff: HandoffId, by: SessionId, at: float) -> list[ChannelHandoff]:
        return self._ledger.release(handoff, by, at)

    def expire(self, now: float, expiry: float) -> list[ChannelHandoff]:
        return self._ledger.expire(now, expiry)

    def release_stale(
        self,
        is_alive: Callable[[int, int], bool],
        transcript_has: Callable[[str, HandoffId], bool],
        *,
        now: float,
    ) -> list[ChannelHandoff]:
        return self._ledger.release_stale(is_alive, transcript_has, now=now)

    def get(self, handoff: HandoffId) -> ChannelHandoff | None:
        return self._ledger.get(handoff)

    def history(
        self, *, channel: str | None = None, session: SessionId | None = None, limit: int = 1000
    ) -> list[ChannelHandoff]:
        return self._ledger.history(channel=channel, session=session, limit=limit)
