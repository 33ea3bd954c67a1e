"""An agent in the foreground of the terminal one sits at, through a pseudoterminal of its own."""
