"""The one loop: load, advance, commit, act. Declares the ports the adapters fill."""
