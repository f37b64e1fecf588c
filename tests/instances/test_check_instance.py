"""The public checker of instances, against broken ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftbandits import instances
from driftbandits.instances import FAMILIES, Instance, family
from driftbandits.testing.instances import check_instance


def broken(**attributes: Any) -> Instance:
    """An instance whose class answers wrongly."""
    return type("Broken", (Instance,), attributes)(np.array([[0.5, 0.2, 0.3], [0.5, 0.6, 0.6], [0.1, 0.2, 0.4]]))  # type: ignore[no-any-return]


def writable() -> Instance:
    instance = broken()
    instance.means = instance.means.copy()
    return instance


def with_means(means: Any) -> Instance:
    instance = broken()
    instance.means = means
    return instance


def fortran() -> Any:
    means = np.full((3, 2), 0.5, order="F")
    means.flags.writeable = False
    return means


def with_recipe(**recipe: Any) -> Instance:
    instance = instances.stationary(horizon=3)
    instance.recipe = recipe
    return instance


def renamed() -> Instance:
    instance = instances.stationary(horizon=3)
    instance.name = "mine"
    return instance


def unlabelled(self: Instance) -> Any:
    figure = Instance.plot(self)
    figure.axes[0].set_xlabel("")
    return figure


def one_arm_missing(self: Instance) -> Any:
    figure = Instance.plot(self)
    figure.axes[0].get_lines()[0].remove()
    return figure


def rounding_save(self: Instance, path: Path) -> None:
    Instance(self.means.round(0)).save(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (writable, "read-only"),
        (lambda: with_means([[0.5, 0.5]]), "numpy array"),
        (lambda: with_means(np.ones((2, 2), dtype=np.float32)), "float64"),
        (lambda: with_means(np.ones(3)), "two axes"),
        (lambda: with_means(np.ones((3, 1))), "2 arms"),
        (lambda: with_means(np.full((3, 2), math.nan)), "finite"),
        (lambda: with_means(np.full((3, 2), np.inf)), "finite"),
        (lambda: with_means(fortran()), "contiguous"),
        (lambda: broken(horizon=4), "horizon and n_arms"),
        (lambda: broken(n_arms=2), "horizon and n_arms"),
        (lambda: broken(best_mean=np.array([0.5, 0.6, 0.2])), "best_mean: at step 3"),
        (lambda: broken(best_mean=np.array([0.5, 0.6])), r"best_mean must have shape \(3,\)"),
        (lambda: broken(gap=np.array([0.2, 0.1, 0.2])), "gap: at step 2"),
        (lambda: broken(best_arm=np.array([0, 2, 2])), "best_arm: at step 2"),
        (lambda: broken(drift_limit=0.3), "drift_limit is 0.3; the largest step is"),
        (lambda: broken(save=rounding_save), r"loading \.npz"),
        (lambda: broken(plot=unlabelled), "label both axes"),
        (lambda: broken(plot=one_arm_missing), "draws 2 lines for 3 arms"),
        (lambda: with_recipe(family="stationary", arguments={"means": {1, 2}}), "JSON"),
        (lambda: with_recipe(family="unheard_of", arguments={}), "not in FAMILIES"),
        (lambda: with_recipe(family="stationary", arguments={"horizon": 4}), "must have shape"),
        (lambda: with_recipe(family="stationary", arguments={"horizon": 3, "means": [0.6, 0.5]}), "built again from"),
        (renamed, "built again, its name is 'stationary' and no longer 'mine'"),
        (lambda: with_recipe(family="stationary", arguments={"horizon": 3}), "its recipe differs"),
    ],
)
def test_the_checker_finds_what_is_broken(make: Callable[[], Instance], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_instance(make())


def test_a_users_own_family_is_covered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def ramp(horizon: int = 10) -> Instance:
        return Instance(np.column_stack([np.linspace(0, 1, horizon), np.full(horizon, 0.5)]), name="ramp")

    monkeypatch.setitem(FAMILIES, "ramp", family(ramp))
    instance = FAMILIES["ramp"]()
    assert instance.recipe == {"family": "ramp", "arguments": {"horizon": 10}}
    check_instance(instance)
