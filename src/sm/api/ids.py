"""Names that callers choose, so that a repeated call is recognised."""

import re
import secrets
import time

HANDOFF_FORM = "HO-YYYYMMDD-HHMMSS-xxxxxxxx (UTC, eight hex digits)"
# Twelve hex digits were all there was before ids told the time.
_HANDOFF = re.compile(r"HO-[0-9]{8}-[0-9]{6}-[0-9a-f]{8}|[0-9a-f]{12}")


def new_handoff_id(now: float) -> str:
    """One that tells when it was asked for."""
    return f"HO-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(4)}"


def is_handoff_id(text: str) -> bool:
    return _HANDOFF.fullmatch(text) is not None
