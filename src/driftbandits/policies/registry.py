"""Every policy of the package by name, and how one is made from what is known of an instance."""

from __future__ import annotations

import difflib
from dataclasses import fields
from typing import Any

from driftbandits import policies
from driftbandits.errors import InputError
from driftbandits.policies.base import Policy
from driftbandits.policies.doubling import Doubling

_listed = [getattr(policies, name) for name in dir(policies) if name not in ("POLICIES", "make_policy")]
POLICIES: dict[str, type[Policy]] = {each.__name__: each for each in _listed if each not in (Policy, Doubling)}
"""Every policy of the package; not Doubling, which needs another one to begin with."""


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
