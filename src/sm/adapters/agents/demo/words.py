"""The words Claude Code puts around what hooks say before the model gets it. Pure."""

LONGEST = 10_000
"""More characters than this reach the model as a file and a preview."""
PREVIEW = 2_000

_NOT_THE_USER = (
    "[SYSTEM NOTIFICATION - NOT USER INPUT]\n"
    "This is an automated background-task event, NOT a message from the user.\n"
    "Do NOT interpret this as user acknowledgement, confirmation, or response to any pending"
    " question.\n\n"
)


def feedback(reason: str) -> str:
    """Why a turn goes on although the model stopped."""
    return f"Stop hook feedback:\n{reason}"


def notification(hook: str, text: str) -> str:
    """What a hook in the background said when it woke the agent."""
    return (
        "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n"
        f'<system-reminder>\nStop hook blocking error from command "{hook}": {text}\n'
        "</system-reminder>"
    )


def queued(prompt: str, *, by_person: bool) -> str:
    """Something that came while the model worked, given with a tool's result."""
    if not by_person:
        return _NOT_THE_USER + prompt
    return (
        f"The user sent a new message while you were working:\n{prompt}\n\n"
        "IMPORTANT: After completing your current task, you MUST address the user's message"
        " above. Do not ignore it."
    )


def context(hook: str, text: str) -> str:
    """What a hook added, with its name; beside a tool's result and after a stop as a reminder."""
    if hook.startswith("SessionStart"):
        hook = "SessionStart"
    named = f"{hook} hook additional context: {text}"
    is_reminder = hook == "Stop" or ":" in hook
    return f"<system-reminder>\n{named}\n</system-reminder>" if is_reminder else named


def is_large(text: str) -> bool:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 > LONGEST


def preview(text: str, path: str) -> str:
    """What stands in the place of a text that is too large: its beginning, whole lines."""
    begun = text[:PREVIEW]
    lines, end, _ = begun.rpartition("\n")
    size = f"{len(text) / 1024:.1f}".removesuffix(".0")
    return (
        f"<persisted-output>\nOutput too large ({size}KB). Full output saved to: {path}\n\n"
        f"Preview (first 2KB):\n{lines if end else begun}\n...\n</persisted-output>"
    )


def blocked(command: str, reason: str) -> str:
    """A hook's block, told a second time with the next prompt."""
    return f'Stop hook blocking error from command: "{command}": {reason}'


def error(hook: str, why: str) -> str:
    """What a person sees of a hook that failed."""
    if hook == "Stop":
        return f"● Ran 1 stop hook (ctrl+o to expand)\n  ⎿  Stop hook error: {why}\n"
    return f"  ⎿  {hook} hook error\n  ⎿  {why}"
