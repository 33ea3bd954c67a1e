"""tmux: agents' panes, reached over one lasting control-mode conversation."""
