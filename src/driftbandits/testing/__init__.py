"""Checkers that the package's own tests use, public for users' own policies and instances."""

from driftbandits.testing.instances import check_instance
from driftbandits.testing.policies import check_policy

__all__ = ["check_instance", "check_policy"]
