"""Any terminal program: it can be started, watched and typed to, but proves nothing."""
