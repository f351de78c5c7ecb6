"""Settings of all tests: none depends on how busy the machine is."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("boxsum", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("boxsum")
