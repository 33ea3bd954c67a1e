"""How much is measured: enough to trust, or just enough to see that the program works."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    rounds: int
    round_trips: int
    """In each round."""
    shared_commits: int
    load_rounds: int
    load_seconds: float
    connections: int
    known: tuple[int, ...]
    messages: int
    daemon_starts: int
    idle_sessions: int
    idle_seconds: float
    cli_runs: int
    tool_rounds: int
    tool_calls: int
    transcript_bytes: int
    transcript_readings: int
    secrets: int
    """Of each kind."""
    redaction_bytes: int
    """Of each sort of text."""
    proxied_bytes: int
    rescued: int
    """Sessions whose tmux server is ended."""
    rescues: int
    """Of one agent at a time."""


FULL = Sizes(
    rounds=20,
    round_trips=100,
    shared_commits=200,
    load_rounds=5,
    load_seconds=3.0,
    connections=32,
    known=(1, 100, 1000),
    messages=50,
    daemon_starts=9,
    idle_sessions=100,
    idle_seconds=20.0,
    cli_runs=21,
    tool_rounds=10,
    tool_calls=20,
    transcript_bytes=1_000_000_000,
    transcript_readings=200,
    secrets=400,
    redaction_bytes=30_000_000,
    proxied_bytes=50_000_000,
    rescued=50,
    rescues=7,
)

SMOKE = Sizes(
    rounds=2,
    round_trips=10,
    shared_commits=5,
    load_rounds=1,
    load_seconds=0.2,
    connections=2,
    known=(1, 3),
    messages=2,
    daemon_starts=1,
    idle_sessions=2,
    idle_seconds=0.5,
    cli_runs=1,
    tool_rounds=1,
    tool_calls=2,
    transcript_bytes=1_000_000,
    transcript_readings=3,
    secrets=5,
    redaction_bytes=300_000,
    proxied_bytes=300_000,
    rescued=2,
    rescues=1,
)
