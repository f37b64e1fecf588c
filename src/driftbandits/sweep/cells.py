"""A cell of a sweep: one policy on one instance under one noise, and how many runs of it."""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.instances.base import check_shape
from driftbandits.instances.noise import Noise
from driftbandits.policies.registry import policy_for, told_by
from driftbandits.sweep.things import Given

SHORT = 1 << 16
"""Steps of the instance on which a cell of longer horizon is tried before anything runs."""


def parameters_of(make: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters of a policy, a noise or a family of instances."""
    return () if isinstance(make, Given) else _parameters_of(make)


def _state_of(path: Any) -> list[int]:
    """Size and time of a file: another one by the same name is another instance."""
    try:
        found = os.stat(path) if isinstance(path, str | os.PathLike) else None
    except OSError:  # building the instance says what is wrong
        found = None
    return [] if found is None else [found.st_size, found.st_mtime_ns]


@functools.cache
def _parameters_of(make: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(make).parameters)


@dataclass(frozen=True)
class Cell:
    """All that the runs of one cell depend on; it can be sent to another process.

    Run i meets the noise of (``seed``, i), as run i of ``simulate`` does. With ``fresh_instance`` it also has its own
    instance, drawn with the family's seed + i.
    """

    number: int
    policy: Callable[..., Any]
    policy_arguments: dict[str, Any]
    family: Callable[..., Instance]
    family_arguments: dict[str, Any]
    noise: Callable[..., Noise]
    noise_arguments: dict[str, Any]
    runs: int
    seed: int
    fresh_instance: bool
    columns: dict[str, Any]
    """The cell's parameters, by name: what the rows of its results carry."""

    @property
    def instance_key(self) -> str:
        """Cells with one key share their instance."""
        if isinstance(self.family, Given):
            return json.dumps(self.family.identity, sort_keys=True)
        family = f"{self.family.__module__}.{self.family.__qualname__}"
        file = _state_of(self.family_arguments.get("path"))
        return json.dumps([family, self.family_arguments, self.fresh_instance, file], sort_keys=True, default=repr)

    def instance(self, run: int = 0) -> Instance:
        """The instance of a run."""
        arguments = dict(self.family_arguments)
        if self.fresh_instance:
            arguments["seed"] = arguments.get("seed", 0) + run
        return self.family(**arguments)

    def told_by(self, instance: Instance) -> dict[str, Any]:
        """What the policy is told by its instance: what the grid leaves open."""
        return told_by(instance, set(parameters_of(self.policy)) - self.policy_arguments.keys())

    def make_policy(self, instance: Instance) -> Any:
        """The policy for an instance."""
        return policy_for(instance, self.policy, self.told_by(instance), self.policy_arguments)

    def make_noise(self) -> Noise:
        """The noise."""
        return self.noise(**self.noise_arguments)

    def shortened(self) -> tuple[Cell, Instance, int]:
        """The cell with a horizon no longer than is quick to try, its instance, and the horizon T it really has.

        Only an instance's length decides what it costs to build. What does not fit into a short one (a block of the
        lower bound's) is tried in longer ones, and the error of the last, which has the full length, is the true one.
        """
        horizon = self.family_arguments.get("horizon")
        if isinstance(horizon, (int, float)):
            short = SHORT
            while short < horizon:
                tried = replace(self, family_arguments={**self.family_arguments, "horizon": short})
                try:
                    instance = tried.instance()
                except InputError:
                    short *= 8
                    continue
                check_shape(horizon, instance.n_arms)
                return tried, instance, int(horizon)
        instance = self.instance()
        return self, instance, instance.horizon

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.columns.items() if value is not None)
