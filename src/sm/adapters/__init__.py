"""Each adapter meets one foreign thing: tmux, agents, the store, archives, the system."""
