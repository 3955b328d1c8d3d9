"""What all tests share: no test is timed, and each run tries the same examples.

``pytest --hypothesis-profile=explore`` draws other examples in each run.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow]

settings.register_profile("explore", deadline=None, suppress_health_check=SLOW)
settings.register_profile("same", settings.get_profile("explore"), derandomize=True)
settings.load_profile("same")
