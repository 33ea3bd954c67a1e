"""The background process: a tiny parent that holds the sockets, and the worker that serves."""
