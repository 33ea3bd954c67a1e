"""sm keeps coding agents in tmux alive and on task."""
