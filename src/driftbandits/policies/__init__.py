"""The registry of policies. Adding one is one file here, and one line in ``POLICIES``."""

from __future__ import annotations

import difflib
from dataclasses import fields
from typing import Any

from driftbandits.errors import InputError
from driftbandits.policies.adswitch import AdSwitch
from driftbandits.policies.autots import AutoTS
from driftbandits.policies.base import Policy
from driftbandits.policies.bob import BOB
from driftbandits.policies.cusumucb import CUSUMUCB
from driftbandits.policies.discounted_ts import DiscountedTS
from driftbandits.policies.doubling import Doubling
from driftbandits.policies.driftucb import DriftUCB
from driftbandits.policies.ducb import DUCB
from driftbandits.policies.exp3s import Exp3S
from driftbandits.policies.explore_then_commit import ExploreThenCommit
from driftbandits.policies.glrucb import GLRUCB
from driftbandits.policies.kalmants import KalmanTS
from driftbandits.policies.klucb import KLUCB
from driftbandits.policies.master import MASTER
from driftbandits.policies.meta import META
from driftbandits.policies.mucb import MUCB
from driftbandits.policies.oracle import Oracle
from driftbandits.policies.rexp3 import Rexp3
from driftbandits.policies.roundrobin import RoundRobin
from driftbandits.policies.snoozeit import SnoozeIt
from driftbandits.policies.snoozeitk import SnoozeItK
from driftbandits.policies.snoozeittight import SnoozeItTight
from driftbandits.policies.successive_elimination import SuccessiveElimination
from driftbandits.policies.swts import SWTS
from driftbandits.policies.swucb import SWUCB
from driftbandits.policies.swucbsharp import SWUCBSharp
from driftbandits.policies.thompson import ThompsonSampling
from driftbandits.policies.ucb1 import UCB1
from driftbandits.policies.uniform import Uniform

POLICIES: dict[str, type[Policy]] = {
    policy.__name__: policy
    for policy in (
        AutoTS,
        DriftUCB,
        KalmanTS,
        SnoozeItK,
        SnoozeItTight,
        DiscountedTS,
        DUCB,
        Exp3S,
        ExploreThenCommit,
        KLUCB,
        AdSwitch,
        BOB,
        CUSUMUCB,
        GLRUCB,
        MASTER,
        META,
        MUCB,
        Oracle,
        Rexp3,
        RoundRobin,
        SnoozeIt,
        SuccessiveElimination,
        SWTS,
        SWUCB,
        SWUCBSharp,
        ThompsonSampling,
        UCB1,
        Uniform,
    )
}
"""Every policy of the package, by name."""

__all__ = [
    "BOB",
    "CUSUMUCB",
    "DUCB",
    "GLRUCB",
    "KLUCB",
    "MASTER",
    "META",
    "MUCB",
    "POLICIES",
    "SWTS",
    "SWUCB",
    "UCB1",
    "AdSwitch",
    "AutoTS",
    "DiscountedTS",
    "Doubling",
    "DriftUCB",
    "Exp3S",
    "ExploreThenCommit",
    "KalmanTS",
    "Oracle",
    "Policy",
    "Rexp3",
    "RoundRobin",
    "SWUCBSharp",
    "SnoozeIt",
    "SnoozeItK",
    "SnoozeItTight",
    "SuccessiveElimination",
    "ThompsonSampling",
    "Uniform",
    "make_policy",
]


def make_policy(name: str, **known: Any) -> Policy:
    """The policy called ``name``, given whatever of ``known`` (horizon, drift, ...) it has a parameter for.

    >>> make_policy("SWUCBSharp", horizon=1_000, drift=0.01)
    SWUCBSharp(horizon=1000, drift=0.01, nu=None, alpha=None, lam=None)
    >>> make_policy("RoundRobin", horizon=1_000, drift=0.01)
    RoundRobin()
    """
    if name not in POLICIES:
        near = difflib.get_close_matches(name, POLICIES, n=1, cutoff=0.3)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InputError(f"unknown policy {name!r}; {hint}known: {', '.join(sorted(POLICIES))}")
    wanted = {field.name for field in fields(POLICIES[name])}  # type: ignore[arg-type]
    return POLICIES[name](**{key: value for key, value in known.items() if key in wanted})
