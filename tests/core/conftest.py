"""How hard hypothesis tries: ``HYPOTHESIS_PROFILE=prove`` for the long run."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "gate",
    deadline=None,
    derandomize=True,
    # A machine of many rules filters many steps; that is its nature, not a fault.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile("prove", parent=settings.get_profile("gate"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))
