"""Checkers that the package's own tests use, public for users' own policies, instances and Stores."""

from driftbandits.testing.instances import check_instance
from driftbandits.testing.policies import check_policy
from driftbandits.testing.store import StoreContract

__all__ = ["StoreContract", "check_instance", "check_policy"]
