"""Changes to people's own files, without a daemon: each shown or asked for, whole or not at all.

Our hooks in the settings of agents that people start themselves, in and back out again; folders
registered as channels in our configuration.
"""
