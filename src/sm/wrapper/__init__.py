"""``sm run``: an agent in the foreground of a terminal, with an engine of its own."""
