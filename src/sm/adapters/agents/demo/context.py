"""How full the model's context window is: a rough count, or the number a script sets."""

from typing import Any

_BASE_TOKENS = 1000
_CHARACTERS_PER_TOKEN = 4
_RESERVED = 33_000
_FULL_WINDOW = 200_000


class Context:
    def __init__(self, window: int) -> None:
        self.window = window
        self._characters = 0
        self._pinned: int | None = None
        self.messages = 0
        self.last_request = ""

    @property
    def tokens(self) -> int:
        """Tokens the next request would send."""
        if self._pinned is not None:
            return self._pinned
        return _BASE_TOKENS + self._characters // _CHARACTERS_PER_TOKEN

    @property
    def is_full(self) -> bool:
        """Past the point where Claude Code compacts: 167,000 of 200,000 tokens."""
        small = self.window * 84 // 100
        limit = self.window - _RESERVED if self.window >= _FULL_WINDOW else small
        return self.tokens > limit

    def add(self, text: str) -> None:
        self._characters += len(text)
        self.messages += 1

    def pin(self, tokens: int) -> None:
        """Report this number from now on, until the context is emptied."""
        self._pinned = tokens

    def empty(self) -> None:
        self._characters = 0
        self._pinned = None
        self.messages = 0

    def usage(self, reply: str) -> dict[str, Any]:
        """The usage block of one reply; input and both caches together are ``tokens``."""
        fresh = min(100, self.tokens)
        return {
            "input_tokens": fresh,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": self.tokens - fresh,
            "output_tokens": max(1, len(reply) // _CHARACTERS_PER_TOKEN),
            "service_tier": "standard",
        }
