"""An Instance: reward means of K arms over T steps, and what can be said of them."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_drift, check_horizon, check_path, check_whole, shown
from driftbandits._common.files import written_whole
from driftbandits.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")

ROUNDING = 1e-12
"""A drift may exceed what was declared by this much: means are sums of many steps, each rounded."""

HORIZON = 162_755
"""T of the paper's experiments, ceil(e^12); every family's default."""

MOST_MEANS = 500_000_000
"""T times K of the largest instance a family builds: 4 GB. More would end in a killed process, not in an error."""

MOST_LABELS = 24
"""With more arms the line styles repeat, and a legend would fill the figure and tell nothing."""

FAMILIES: dict[str, Callable[..., Instance]] = {}
"""Every family of instances by name; ``@family`` fills it."""


class Instance:
    """Reward means of K >= 2 arms over T >= 1 steps, all in [0, 1]; ``means[t, a]`` is mu_(a, t+1) of the paper.

    ``drift``, when given, is a promise that is checked: no mean may move by more in one step.

    >>> instance = Instance([[0.5, 0.4], [0.5, 0.5], [0.5, 0.6]], drift=0.1)
    >>> instance.horizon, instance.n_arms, round(instance.drift_limit, 6)
    (3, 2, 0.1)
    >>> instance.best_arm.tolist(), instance.gap.round(6).tolist()
    ([0, 0, 1], [0.1, 0.0, 0.1])
    """

    def __init__(self, means: Any, *, name: str = "instance", drift: float | None = None) -> None:
        self.means = _checked(means)
        self.name = name
        self.drift = drift
        """The drift limit that was declared, if one was: to ``Instance``, or to the family that made it."""
        self.recipe: dict[str, Any] | None = None
        """How to build the instance again, when a family made it."""
        if drift is not None:
            self._check_drift(drift)

    @property
    def horizon(self) -> int:
        """T, the number of steps."""
        return int(self.means.shape[0])

    @property
    def n_arms(self) -> int:
        """K, the number of arms."""
        return int(self.means.shape[1])

    @functools.cached_property
    def drift_limit(self) -> float:
        """The true drift limit: max over arms and t of |mu_(a,t+1) - mu_(a,t)|; 0 when T = 1."""
        return float(np.abs(np.diff(self.means, axis=0)).max(initial=0.0))

    @functools.cached_property
    def best_mean(self) -> Array:
        """mu*_t, the best mean of each step, shape (T,)."""
        return np.asarray(self.means.max(axis=1))

    @property
    def best_arm(self) -> Array:
        """The best arm of each step (the lowest of equals), shape (T,)."""
        return np.asarray(self.means.argmax(axis=1))

    @property
    def gap(self) -> Array:
        """Delta_t, the best mean less the second best, shape (T,)."""
        top = np.partition(self.means, -2, axis=1)
        return np.asarray(top[:, -1] - top[:, -2])

    def plot(self) -> Figure:
        """The means of every arm against time."""
        from driftbandits._common import plotting as figures

        figure: Figure
        with figures.canvas(size=(7.0, 3.4)) as (figure, axes):
            at = figures.thin(self.horizon)
            marker = "o" if self.horizon == 1 else None  # a line through one point is invisible
            for arm in range(self.n_arms):
                label, style = f"arm {arm}", figures.line_style(arm)
                axes.plot(at + 1, self.means[at, arm], label=label, marker=marker, **style)
            axes.set(xlabel="step t", ylabel="mean reward", title=self.name)
            if np.ptp(self.means) > 0.1:  # smaller differences could not be seen on the whole of [0, 1]
                axes.set_ylim(-0.02, 1.02)
            if self.horizon == 1:
                axes.set_xlim(0, 2)
            axes.xaxis.get_major_locator().set_params(integer=True)
            figures.thousands(axes.xaxis)
            if self.n_arms <= MOST_LABELS:
                figure.legend(ncols=min(self.n_arms, 5), loc="outside lower center")
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the means, one row a step and one column an arm, as .npz, .csv or .parquet by the name's ending."""
        ending = check_path("path", path).suffix.lower()
        if ending not in (".npz", ".csv", ".parquet"):
            raise InputError(
                f"cannot save an instance as {ending or 'a file with no ending'}: use .npz, .csv or .parquet"
            )
        with written_whole(path) as temporary:
            if ending == ".npz":
                with temporary.open("wb") as file:  # given a name, numpy would add its own ending to "means.NPZ"
                    np.savez_compressed(file, means=self.means)
            else:
                import polars as pl

                table = pl.DataFrame({f"arm_{arm}": self.means[:, arm] for arm in range(self.n_arms)})
                table.write_csv(temporary) if ending == ".csv" else table.write_parquet(temporary)

    def __repr__(self) -> str:
        return f"<Instance {self.name}: T={self.horizon:,}, K={self.n_arms}, drift_limit={self.drift_limit:.3g}>"

    def _check_drift(self, drift: float) -> None:
        check_drift(drift)
        if self.drift_limit > drift + ROUNDING:
            steps = np.abs(np.diff(self.means, axis=0))
            step, arm = np.unravel_index(int(steps.argmax()), steps.shape)
            raise InputError(
                f"the instance breaks the declared drift {drift:g}: arm {arm} moves by {self.drift_limit:g} from step "
                f"{step + 1} to {step + 2}, which is {self.drift_limit - drift:g} too much. "
                f"Declare drift={self.drift_limit:g} or smooth the means."
            )


def _checked(means: Any) -> Array:
    try:
        table = np.array(means, dtype=np.float64, order="C")  # a copy: the caller may go on changing theirs
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"means must be a table of numbers, one row a step, all rows of one length: {error}"
        ) from error
    if table.ndim != 2:
        raise InputError(f"means must have two axes, (steps, arms); got shape {table.shape}")
    if table.shape[0] < 1:
        raise InputError("means has no rows: an instance needs at least one step")
    if table.shape[1] < 2:
        raise InputError(
            f"an instance needs at least 2 arms; got {table.shape[1]}: with one arm there is nothing to choose"
        )
    wrong = ~((table >= 0) & (table <= 1))
    if wrong.any():
        step, arm = np.unravel_index(int(wrong.argmax()), wrong.shape)
        raise InputError(f"every mean must lie in [0, 1]; arm {arm} at step {step + 1} has {table[step, arm]:g}")
    table.flags.writeable = False
    return table


def check_instance(value: Any) -> Instance:
    """What is played on must be an Instance."""
    if not isinstance(value, Instance):
        raise InputError(
            f"the instance must be one of db.instances, such as db.instances.toggling(), or db.Instance(means); got "
            f"{shown(value)}"
        )
    return value


def check_shape(horizon: float, n_arms: float = 2) -> tuple[int, int]:
    """T and K of a family's instance as whole numbers, small enough for the table of means to fit in memory."""
    T, K = check_horizon(horizon), check_whole("n_arms", n_arms, 2)
    if T * K > MOST_MEANS:
        raise InputError(
            f"horizon={T:,} with {K:,} arms needs {T * K:,} means, and an instance holds at most {MOST_MEANS:,}: "
            f"with so many arms take horizon <= {max(1, MOST_MEANS // K):,}"
        )
    return T, K


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's own, which JSON can write."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def family(function: Callable[P, Instance]) -> Callable[P, Instance]:
    """Register a function that builds instances, and let each instance remember how it was built."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def build(*args: P.args, **kwargs: P.kwargs) -> Instance:
        instance = function(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = {name: _plain(value) for name, value in bound.arguments.items()}
        instance.recipe = {"family": function.__name__, "arguments": arguments}
        if arguments.get("drift") is not None:
            instance.drift = float(arguments["drift"])
        return instance

    FAMILIES[function.__name__] = build
    return build
