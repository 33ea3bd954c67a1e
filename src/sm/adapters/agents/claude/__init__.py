"""Claude Code: its hooks, its screen, its transcript, its command line."""
