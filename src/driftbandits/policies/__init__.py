"""The registry of policies. Adding one is one file here, and one line in ``POLICIES``."""

from __future__ import annotations

from driftbandits.policies.base import Policy
from driftbandits.policies.exp3s import Exp3S
from driftbandits.policies.oracle import Oracle
from driftbandits.policies.rexp3 import Rexp3
from driftbandits.policies.roundrobin import RoundRobin
from driftbandits.policies.snoozeit import SnoozeIt
from driftbandits.policies.swucbsharp import SWUCBSharp
from driftbandits.policies.uniform import Uniform

POLICIES: dict[str, type[Policy]] = {
    policy.__name__: policy for policy in (Exp3S, Oracle, Rexp3, RoundRobin, SnoozeIt, SWUCBSharp, Uniform)
}
"""Every policy of the package, by name."""

__all__ = ["POLICIES", "Exp3S", "Oracle", "Policy", "Rexp3", "RoundRobin", "SWUCBSharp", "SnoozeIt", "Uniform"]
