"""The environment variables that tell a session's agent who it is. Costs nothing to import."""

SESSION_ID = "CLAUDE_SESSION_MANAGER_ID"
"""Set for each session's agent, so also for everything that is started from there."""
SESSION_TOKEN = "SM_SESSION_TOKEN"  # noqa: S105 - a name, no secret
