"""Where sm keeps things and how it is configured."""
