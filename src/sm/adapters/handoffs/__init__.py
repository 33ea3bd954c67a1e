"""What handoffs leave behind: documents, dumps, and the state of the work."""
