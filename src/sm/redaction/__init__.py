"""Secrets out of texts: about fifty kinds, each hit replaced by ``[redacted:KIND]``.

Knows the shapes of secrets and nothing else: no files, no settings, no daemon. Begin with
``Redactor`` in ``sm.redaction.redactor``.
"""
