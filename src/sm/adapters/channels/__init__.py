"""Channels on the disk: the ledger of their handoffs, its exports, and where a folder belongs."""
