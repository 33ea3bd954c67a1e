"""Times as people write them. Cheap to import: commands read them too."""

import re

_PART = r"([0-9]+(?:\.[0-9]+)?)\s*([smhdw])"
_TIME = re.compile(rf"\s*(?:{_PART}\s*)+")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def seconds(text: str) -> float:
    """``90d``, ``12h``, ``1h30m``, ``45s`` as seconds; ``ValueError`` for anything else."""
    if _TIME.fullmatch(text) is None:
        raise ValueError(text)
    parts = re.findall(_PART, text)
    units = [unit for _, unit in parts]
    if units != sorted(set(units), key=_SECONDS.__getitem__, reverse=True):
        raise ValueError(text)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)
