"""What agents showed: raw logs turned into text."""
