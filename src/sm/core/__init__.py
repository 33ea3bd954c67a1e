"""The pure rules: what a session is and what to do next. No I/O, no clock."""
