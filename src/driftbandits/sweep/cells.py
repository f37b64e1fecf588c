"""A cell of a sweep: one policy in one world under one noise, and how many runs of it."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.instances.base import check_shape
from driftbandits.instances.noise import Noise
from driftbandits.policies.registry import told_by

SHORT = 1 << 16
"""Steps of the world in which a cell of longer horizon is tried before anything runs."""


@functools.cache
def parameters_of(make: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters of a policy, a noise or a family of instances."""
    return tuple(inspect.signature(make).parameters)


@dataclass(frozen=True)
class Cell:
    """All that the runs of one cell depend on; it can be sent to another process.

    Run i meets the noise of (``seed``, i), as run i of ``simulate`` does. With ``fresh_world`` it also has a world of
    its own, drawn with the family's seed + i.
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
    fresh_world: bool
    columns: dict[str, Any]
    """The cell's parameters, by name: what the rows of its results carry."""

    @property
    def world_key(self) -> str:
        """Cells with one key share their world."""
        family = f"{self.family.__module__}.{self.family.__qualname__}"
        return json.dumps([family, self.family_arguments, self.fresh_world], sort_keys=True, default=repr)

    def world(self, run: int = 0) -> Instance:
        """The world of a run."""
        arguments = dict(self.family_arguments)
        if self.fresh_world:
            arguments["seed"] = arguments.get("seed", 0) + run
        return self.family(**arguments)

    def told_by(self, world: Instance) -> dict[str, Any]:
        """What the policy is told by its world: what the grid leaves open."""
        return told_by(world, set(parameters_of(self.policy)) - self.policy_arguments.keys())

    def make_policy(self, world: Instance) -> Any:
        """The policy for a world."""
        return self.policy(**self.told_by(world), **self.policy_arguments)

    def make_noise(self) -> Noise:
        """The noise."""
        return self.noise(**self.noise_arguments)

    def shortened(self) -> tuple[Cell, Instance, int]:
        """The cell with a horizon no longer than is quick to try, its world, and the horizon T it really has.

        Only a world's length decides what it costs to build. What does not fit into a short one (a block of the lower
        bound's) is tried in longer ones, and the error of the last, which has the full length, is the true one.
        """
        horizon = self.family_arguments.get("horizon")
        if isinstance(horizon, (int, float)):
            short = SHORT
            while short < horizon:
                tried = replace(self, family_arguments={**self.family_arguments, "horizon": short})
                try:
                    world = tried.world()
                except InputError:
                    short *= 8
                    continue
                check_shape(horizon, world.n_arms)
                return tried, world, int(horizon)
        world = self.world()
        return self, world, world.horizon

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.columns.items() if value is not None)
