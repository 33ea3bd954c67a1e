"""The demo agent: a real terminal program that behaves as Claude Code does, and its dialect."""
