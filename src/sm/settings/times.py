"""Times as people write them. Cheap to import: commands read them too."""

import re

_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def seconds(text: str) -> float:
    """``90d``, ``12h``, ``30m``, ``45s`` as seconds; ``ValueError`` for anything else."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return float(found.group(1)) * _SECONDS[found.group(2)]
