"""Whoever runs a command, as far as an agent it starts takes after them."""

import os


def environment() -> dict[str, str]:
    """Ours, and how open our new files are: the launcher in the pane takes that over too."""
    umask = os.umask(0o077)
    os.umask(umask)
    ours = {k: v for k, v in os.environ.items() if _is_text(k) and _is_text(v)}
    return {**ours, "SM_UMASK": f"{umask:03o}"}


def _is_text(value: str) -> bool:
    """Whether a value can travel as JSON: bytes that are no text are left behind."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
