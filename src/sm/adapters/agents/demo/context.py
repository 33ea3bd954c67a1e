"""How full the model's context window is: a rough count, or the number a script sets."""

from typing import Any

_BASE_TOKENS = 1000
_CHARACTERS_PER_TOKEN = 4
_RESERVED = 33_000
_FULL_WINDOW = 200_000
_KINDS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


def compacts_at(window: int) -> int:
    """Where Claude Code compacts: 167,000 of 200,000 tokens; a small window as a part of it."""
    return window - _RESERVED if window >= _FULL_WINDOW else window * 84 // 100


class Context:
    def __init__(self, window: int) -> None:
        self.window = window
        self._characters = 0
        self._pinned: int | None = None
        self.messages = 0
        self.last: dict[str, int] | None = None
        """What the last reply cost; nothing before the first."""

    @property
    def tokens(self) -> int:
        """Tokens the next request would send."""
        if self._pinned is not None:
            return self._pinned
        return _BASE_TOKENS + self._characters // _CHARACTERS_PER_TOKEN

    @property
    def is_full(self) -> bool:
        return self.tokens > compacts_at(self.window)

    def add(self, text: str) -> None:
        self._characters += len(text)
        self.messages += 1

    def pin(self, tokens: int) -> None:
        """Report this number from now on, until the context is emptied."""
        self._pinned = tokens

    def empty(self, *, compacted: bool = False) -> None:
        """Begin anew; after a compaction the last reply counts as nothing, not as none."""
        self._characters = 0
        self._pinned = None
        self.messages = 0
        self.last = dict.fromkeys(_KINDS, 0) if compacted else None

    def usage(self, reply: str) -> dict[str, Any]:
        """The usage block of one reply; input and both caches together are ``tokens``."""
        fresh = min(100, self.tokens)
        written = min(1000, self.tokens - fresh)
        self.last = {
            "input_tokens": fresh,
            "output_tokens": max(1, len(reply) // _CHARACTERS_PER_TOKEN),
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": self.tokens - fresh - written,
        }
        return {**self.last, "service_tier": "standard"}

    def told(self) -> dict[str, Any]:
        """The ``context_window`` of a status line's input."""
        known = self.last or dict.fromkeys(_KINDS, 0)
        output = known["output_tokens"]
        tokens = sum(known.values()) - output
        percent = None if self.last is None else round(100 * tokens / self.window)
        return {
            "total_input_tokens": tokens,
            "total_output_tokens": output,
            "context_window_size": self.window,
            "current_usage": self.last,
            "used_percentage": percent,
            "remaining_percentage": None if percent is None else 100 - percent,
        }
