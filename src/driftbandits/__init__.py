"""Bandits whose reward means drift slowly: policies, instances, theory and fast simulation.

Names are resolved when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AutoTS": "policies",
    "Doubling": "policies",
    "DriftUCB": "policies",
    "KalmanTS": "policies",
    "SnoozeItK": "policies",
    "SnoozeItTight": "policies",
    "Bernoulli": "noise",
    "Decision": "decisions",
    "DriftbanditsError": "errors",
    "Session": "session",
    "Store": "store",
    "Bounded": "noise",
    "DUCB": "policies",
    "DiscountedTS": "policies",
    "Exp3S": "policies",
    "ExploreThenCommit": "policies",
    "FeasibilityWarning": "errors",
    "GLRUCB": "policies",
    "Gaussian": "noise",
    "InputError": "errors",
    "Instance": "instances",
    "KLUCB": "policies",
    "Noise": "noise",
    "Online": "online",
    "CUSUMUCB": "policies",
    "MUCB": "policies",
    "BOB": "policies",
    "AdSwitch": "policies",
    "MASTER": "policies",
    "META": "policies",
    "Oracle": "policies",
    "POLICIES": "policies",
    "Policy": "policies",
    "PolicyError": "errors",
    "Rexp3": "policies",
    "RoundRobin": "policies",
    "SWTS": "policies",
    "SWUCB": "policies",
    "SWUCBSharp": "policies",
    "Simulation": "simulation",
    "Sweep": "sweep.sweep",
    "SnoozeIt": "policies",
    "SuccessiveElimination": "policies",
    "ThompsonSampling": "policies",
    "UCB1": "policies",
    "Uniform": "policies",
    "Unfinished": "errors",
    "detectable_gap": "theory.gaps",
    "detection_table": "detections",
    "estimate_drift": "estimation",
    "explain_feasibility": "theory.feasibility",
    "kernel": "kernels",
    "plot_detections": "detections",
    "records": "policies.base",
    "replay": "offline.replay",
    "simulate": "simulation",
    "trajectory": "recording",
}
_MODULES = {"bounds": "theory.bounds", "instances": "instances", "studies": "studies", "testing": "testing"}

# Where the Store's packages are not installed, everything else can still be had by a star.
__all__ = [name for name in (*_HOMES, *_MODULES) if name != "Store" or find_spec("sqlalchemy")]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"driftbandits.{_MODULES[name]}")
    if name in _HOMES:
        return getattr(import_module(f"driftbandits.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'driftbandits' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from driftbandits import instances as instances
    from driftbandits.research import studies
    from driftbandits import testing as testing
    from driftbandits.live.decisions import Decision as Decision
    from driftbandits.simulation.detections import detection_table as detection_table
    from driftbandits.simulation.detections import plot_detections as plot_detections
    from driftbandits.errors import DriftbanditsError as DriftbanditsError
    from driftbandits.errors import FeasibilityWarning as FeasibilityWarning
    from driftbandits.errors import InputError as InputError
    from driftbandits.errors import PolicyError as PolicyError
    from driftbandits.errors import Unfinished as Unfinished
    from driftbandits.offline.drift import estimate_drift as estimate_drift
    from driftbandits.instances import Instance as Instance
    from driftbandits._compile.kernels import kernel as kernel
    from driftbandits.instances.noise import Bernoulli as Bernoulli
    from driftbandits.instances.noise import Bounded as Bounded
    from driftbandits.instances.noise import Gaussian as Gaussian
    from driftbandits.instances.noise import Noise as Noise
    from driftbandits.offline.replay import replay as replay
    from driftbandits.live.online import Online as Online
    from driftbandits.policies import BOB as BOB
    from driftbandits.policies import CUSUMUCB as CUSUMUCB
    from driftbandits.policies import DUCB as DUCB
    from driftbandits.policies import GLRUCB as GLRUCB
    from driftbandits.policies import KLUCB as KLUCB
    from driftbandits.policies import MASTER as MASTER
    from driftbandits.policies import META as META
    from driftbandits.policies import MUCB as MUCB
    from driftbandits.policies import POLICIES as POLICIES
    from driftbandits.policies import SWTS as SWTS
    from driftbandits.policies import SWUCB as SWUCB
    from driftbandits.policies import UCB1 as UCB1
    from driftbandits.policies import AdSwitch as AdSwitch
    from driftbandits.policies import AutoTS as AutoTS
    from driftbandits.policies import DiscountedTS as DiscountedTS
    from driftbandits.policies import Doubling as Doubling
    from driftbandits.policies import DriftUCB as DriftUCB
    from driftbandits.policies import Exp3S as Exp3S
    from driftbandits.policies import ExploreThenCommit as ExploreThenCommit
    from driftbandits.policies import KalmanTS as KalmanTS
    from driftbandits.policies import Oracle as Oracle
    from driftbandits.policies import Policy as Policy
    from driftbandits.policies import Rexp3 as Rexp3
    from driftbandits.policies import RoundRobin as RoundRobin
    from driftbandits.policies import SnoozeIt as SnoozeIt
    from driftbandits.policies import SnoozeItK as SnoozeItK
    from driftbandits.policies import SnoozeItTight as SnoozeItTight
    from driftbandits.policies import SuccessiveElimination as SuccessiveElimination
    from driftbandits.policies import SWUCBSharp as SWUCBSharp
    from driftbandits.policies import ThompsonSampling as ThompsonSampling
    from driftbandits.policies import Uniform as Uniform
    from driftbandits.policies.base import records as records
    from driftbandits.simulation.trajectory import trajectory as trajectory
    from driftbandits.live.session import Session as Session
    from driftbandits.simulation.simulate import Simulation as Simulation
    from driftbandits.simulation.simulate import simulate as simulate
    from driftbandits.store import Store as Store
    from driftbandits.sweep.sweep import Sweep as Sweep
    from driftbandits.theory import bounds as bounds
    from driftbandits.theory.feasibility import explain_feasibility as explain_feasibility
    from driftbandits.theory.gaps import detectable_gap as detectable_gap
