"""The JSON contract and its client."""
