"""Merging our hooks into the settings of agents that people start themselves, and back out.

Works on files alone: no daemon is needed, none is started.
"""
