"""Tells the person: on their terminals, in a list they find, by a command of their own."""
