"""The command line: one command, one file. Commands speak to the daemon through the API."""
