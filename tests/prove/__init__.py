"""The sizes that must be shown: `make prove` runs them whole, `make test` a short version."""
