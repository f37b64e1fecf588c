"""A checker for instances, those of this package and those of its users."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import shown
from driftbandits._common.plotting import save_figure
from driftbandits.instances import FAMILIES, Instance, table


def check_instance(instance: Instance) -> None:
    """Raise AssertionError, with the reason, unless ``instance`` is all that an instance must be.

    It checks the table of means and everything derived from it, saves and loads it in every format, draws it, and
    builds it again from its recipe when it has one.

    >>> check_instance(Instance([[0.5, 0.4], [0.5, 0.6]], name="mine"))
    >>> broken = Instance([[0.5, 0.4], [0.5, 0.6]], reward_range=(0, 1))
    >>> broken.means = broken.means + 0.5
    >>> check_instance(broken)
    Traceback (most recent call last):
    AssertionError: means must lie in [0, 1]; they reach from 0.9 to 1.1
    """
    _require(isinstance(instance, Instance), f"an instance must be an Instance; got {shown(instance)}")
    _check_means(instance)
    _check_derived(instance)
    with tempfile.TemporaryDirectory() as folder:
        _check_files(instance, Path(folder))
        _check_plot(instance, Path(folder))
    if instance.recipe is not None:
        _check_recipe(instance)


def _check_means(instance: Instance) -> None:
    means = instance.means
    _require(isinstance(means, np.ndarray), f"means must be a numpy array; it is a {type(means).__name__}")
    _require(means.dtype == np.float64, f"means must be float64; it is {means.dtype}")
    _require(means.ndim == 2, f"means must have two axes, (steps, arms); its shape is {means.shape}")
    _require(means.shape[0] >= 1 and means.shape[1] >= 2, f"at least 1 step and 2 arms; the shape is {means.shape}")
    _require(bool(np.isfinite(means).all()), "means must be finite")
    low, high = means.min(), means.max()
    least, most = (0.0, 1.0) if instance.recipe is not None else instance.reward_range or (-math.inf, math.inf)
    inside = least <= low and high <= most
    _require(inside, f"means must lie in [{least:g}, {most:g}]; they reach from {low:g} to {high:g}")
    _require(not means.flags.writeable, "means must be read-only: call means.setflags(write=False)")
    _require(means.flags.c_contiguous, "means must be contiguous, row after row")


def _check_derived(instance: Instance) -> None:
    means = instance.means
    shape = (instance.horizon, instance.n_arms)
    _require(shape == means.shape, f"horizon and n_arms say {shape}; the shape of means is {means.shape}")
    there = np.ones(means.shape, np.bool_) if instance.available is None else instance.available
    _require(there.shape == means.shape, f"available must have the shape of means; its shape is {there.shape}")
    _require(bool(there.any(axis=1).all()), "at least one arm must be there at every step")
    # By sorting and by slices, unlike Instance itself, so that no mistake can agree with itself.
    offered = np.where(there, means, -np.inf)
    falling = -np.sort(-offered, axis=1)
    _require_equal("best_mean", instance.best_mean, falling[:, 0])
    _require_equal("gap", instance.gap, falling[:, 0] - falling[:, 1])
    _require_equal("best_arm", instance.best_arm, np.argsort(-offered, axis=1, kind="stable")[:, 0])
    moves = np.abs(means[1:] - means[:-1])
    limit = moves.max() if moves.size else 0.0
    _require(instance.drift_limit == limit, f"drift_limit is {instance.drift_limit!r}; the largest step is {limit!r}")


def _check_files(instance: Instance, folder: Path) -> None:
    for ending in (".npz", ".csv", ".parquet") if instance.available is None else (".npz",):
        path = folder / f"means{ending}"
        instance.save(path)
        again = table(path, reward_range=None if ending == ".npz" else instance.reward_range)
        _require(again.reward_range == instance.reward_range, f"{ending} forgets the range of rewards")
        _require_equal(f"means after saving and loading {ending}", again.means, instance.means)
        _require(np.array_equal(again.available, instance.available), f"{ending} forgets which arms are there")  # type: ignore[arg-type]


def _check_plot(instance: Instance, folder: Path) -> None:
    figure = instance.plot()
    for axes in figure.axes:
        _require(bool(axes.get_xlabel() and axes.get_ylabel()), "plot() must label both axes")
    lines = sum(len(axes.get_lines()) for axes in figure.axes)
    _require(lines >= instance.n_arms, f"plot() must draw every arm; it draws {lines} lines for {instance.n_arms} arms")
    save_figure(figure, folder / "means.png")


def _check_recipe(instance: Instance) -> None:
    try:
        recipe = json.loads(json.dumps(instance.recipe))
    except TypeError as error:
        raise AssertionError(f"the recipe must be writable as JSON: {error}") from error
    name = recipe["family"]
    _require(name in FAMILIES, f"the recipe names the family {name!r}, which is not in FAMILIES")
    again = FAMILIES[name](**recipe["arguments"])
    _require_equal("means built again from the recipe", again.means, instance.means)
    _require(np.array_equal(again.available, instance.available), "built again, other arms are there")  # type: ignore[arg-type]
    _require(again.name == instance.name, f"built again, its name is {again.name!r} and no longer {instance.name!r}")
    _require(json.loads(json.dumps(again.recipe)) == recipe, "built again, its recipe differs")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _require_equal(what: str, found: Array, wanted: Array) -> None:
    _require(found.shape == wanted.shape, f"{what} must have shape {wanted.shape}; it has {found.shape}")
    if not np.array_equal(found, wanted):
        step = int((found != wanted).reshape(len(wanted), -1).any(axis=1).argmax())
        raise AssertionError(f"{what}: at step {step + 1} it is {found[step]}, and should be {wanted[step]}")
