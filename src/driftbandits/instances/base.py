"""An Instance: reward means of K arms over T steps, and what can be said of them."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import (
    LARGEST_REWARD,
    check_drift,
    check_flag,
    check_horizon,
    check_names,
    check_path,
    check_range,
    check_whole,
    shown,
)
from driftbandits._common.expansion import MOST_EXPANDED
from driftbandits._common.files import written_whole
from driftbandits._common.frames import as_polars, is_frame
from driftbandits._common.notebook import html_curves, html_facts, written
from driftbandits._common.parquet import check_parquet
from driftbandits.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")

ROUNDING = 1e-12
"""A drift may exceed what was declared by this much: means are sums of many steps, each rounded."""

HORIZON = 162_755
"""T of the paper's experiments, ceil(e^12); every family's default."""

MOST_MEANS = 500_000_000
"""T times K of the largest instance a family builds: 4 GB. More would end in a killed process, not in an error."""

MANY_ARMS = 100
"""So many arms in fewer steps look like a table that has its rows for columns."""

MOST_LABELS = 24
"""With more arms the line styles repeat, and a legend would fill the figure and tell nothing."""

FAMILIES: dict[str, Callable[..., Instance]] = {}
"""Every family of instances by name; ``@family`` fills it."""


class Instance:
    """Reward means of K >= 2 arms over T >= 1 steps; ``means[t, a]`` is mu_(a, t+1) of the paper.

    ``means`` is a table of numbers, one row a step, or a data frame, whose columns name the arms unless ``arms`` does.
    ``drift``, when given, is a promise that is checked: no mean may move by more in one step. ``available`` is a table
    of True and False of the same shape: which arms are there at each step, one at least; all unless given. A mean
    drifts on while its arm is away. Two instances are equal when their names, arms, means, availability and ranges are.

    Means are any finite numbers, such as counts or money. ``reward_range`` = (low, high) declares what 0 and 1 are to
    policies defined for rewards in [0, 1]: they learn (reward - low)/(high - low), and means must lie in the range.
    Without it such policies need means in [0, 1].

    >>> instance = Instance([[0.5, 0.4], [0.5, 0.5], [0.5, 0.6]], drift=0.1)
    >>> instance.horizon, instance.n_arms, round(instance.drift_limit, 6)
    (3, 2, 0.1)
    >>> instance.best_arm.tolist(), instance.gap.round(6).tolist()
    ([0, 0, 1], [0.1, 0.0, 0.1])
    >>> instance.arms, Instance([[0.5, 0.4]], arms=["red", "blue"]).arms
    (('arm 0', 'arm 1'), ('red', 'blue'))
    >>> Instance([[0.5, 0.4], [0.5, 0.4]], available=[[True, True], [False, True]]).best_arm.tolist()
    [0, 1]
    """

    def __init__(
        self,
        means: Any,
        *,
        name: str = "instance",
        drift: float | None = None,
        arms: Sequence[str] | None = None,
        available: Any = None,
        reward_range: Sequence[float] | None = None,
    ) -> None:
        if is_frame(means):
            frame = as_polars(means)
            means, arms = frame.to_numpy(), column_names(frame.columns) if arms is None else arms
        self.means = _checked(means)
        if self.n_arms > self.horizon and self.n_arms >= MANY_ARMS:
            warnings.warn(
                f"there are more arms, {self.n_arms:,}, than steps, {self.horizon:,}: is the table transposed? It must "
                "have one row per step and one column per arm",
                UserWarning,
                stacklevel=2,
            )
        if not isinstance(name, str):
            raise InputError(f"name must be text; got {shown(name)}")
        self.name = name
        self.drift = drift
        """The drift limit that was declared, if one was: to ``Instance``, or to the family that made it."""
        self.named_arms = None if arms is None else self._check_arms(arms)
        """The names that arms were given; None if they have none but their numbers."""
        self.available = None if available is None else _checked_available(available, self.means.shape)
        """Which arms are there at each step, shape (T, K); None if all always are."""
        self.reward_range = check_range("reward_range", reward_range)
        """The least and the largest reward, if they were declared."""
        if self.reward_range is not None and not self.within(*self.reward_range):
            low, high = self.reward_range
            raise InputError(
                f"every mean must lie in reward_range, {low:g} to {high:g}; got {self.farthest(low, high)}: "
                "declare a wider range"
            )
        self.recipe: dict[str, Any] | None = None
        """How to build the instance again, when a family made it."""
        if drift is not None:
            self._check_drift(drift)

    @property
    def arms(self) -> tuple[str, ...]:
        """What tables and figures call the arms: the names they were given, or "arm 0", "arm 1", ..."""
        return self.named_arms or tuple(f"arm {arm}" for arm in range(self.n_arms))

    def with_arms(self, arms: Sequence[str]) -> Instance:
        """The same instance with names for its arms.

        >>> from driftbandits import instances
        >>> instances.toggling().with_arms(["red", "blue"]).arms
        ('red', 'blue')
        """
        named = copy.copy(self)
        named.named_arms = self._check_arms(arms)
        return named

    def within(self, low: float, high: float) -> bool:
        """Whether all means lie from ``low`` to ``high``."""
        return low <= self._least and self._largest <= high

    @functools.cached_property
    def _least(self) -> float:
        return float(self.means.min())

    @functools.cached_property
    def _largest(self) -> float:
        return float(self.means.max())

    def farthest(self, low: float, high: float) -> str:
        """The mean farthest outside of these limits, as errors name it."""
        above = self._largest - high >= low - self._least
        step, arm = np.unravel_index(int(self.means.argmax() if above else self.means.argmin()), self.means.shape)
        return f"the mean {self._largest if above else self._least:g} of {self.arms[arm]} at step {step + 1:,}"

    @property
    def unit(self) -> float:
        """The width of ``reward_range``, which is 1 to policies defined for [0, 1]; 1 where none is declared."""
        return 1.0 if self.reward_range is None else self.reward_range[1] - self.reward_range[0]

    def rescaled(self) -> Instance:
        """The instance on the scale of [0, 1], for which policies, bounds and gaps are defined; itself if it is there.

        >>> Instance([[20.0, 30.0]], reward_range=(0, 100)).rescaled().means.tolist()
        [[0.2, 0.3]]
        """
        if self.reward_range in (None, (0.0, 1.0)):
            if not self.within(0.0, 1.0):
                raise InputError(
                    f"this is defined for means in [0, 1]; got {self.farthest(0.0, 1.0)} of {self.name!r}: declare "
                    "reward_range=(low, high) of the instance"
                )
            return self
        assert self.reward_range is not None
        drift = None if self.drift is None else self.drift / self.unit
        means = (self.means - self.reward_range[0]) / self.unit
        return Instance(means, name=self.name, drift=drift, arms=self.named_arms, available=self.available)

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
        """mu*_t, the best mean of the arms that are there at each step, shape (T,)."""
        return np.asarray(self._on_offer.max(axis=1))

    @property
    def best_arm(self) -> Array:
        """The best of the arms that are there at each step (the lowest of equals), shape (T,)."""
        return np.asarray(self._on_offer.argmax(axis=1))

    @property
    def gap(self) -> Array:
        """Delta_t, the best mean less the second best of the arms that are there, shape (T,); infinite for one arm."""
        top = np.partition(self._on_offer, -2, axis=1)
        return np.asarray(top[:, -1] - top[:, -2])

    @functools.cached_property
    def arm_changes(self) -> Array:
        """How many steps were played each time that arms came or went."""
        if self.available is None:
            return np.empty(0, np.int64)
        return np.flatnonzero((self.available[1:] != self.available[:-1]).any(axis=1)) + 1

    @property
    def _on_offer(self) -> Array:
        """The means, minus infinity where an arm is not there."""
        return self.means if self.available is None else np.where(self.available, self.means, -np.inf)

    def _drawn(self, at: Array, arm: int) -> Array:
        """An arm's means at these steps, no number where it is not there."""
        means = self.means[at, arm]
        return means if self.available is None else np.where(self.available[at, arm], means, np.nan)

    def plot(
        self,
        *,
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
        log: bool = False,
        arms: Sequence[str] | str | None = None,
        title: str | None = None,
    ) -> Figure:
        """The means of every arm while it is there against time, or of those that ``arms`` names.

        Drawn into the axes ``ax``, or a new figure of ``figsize`` inches; ``log`` makes time logarithmic. ``title`` is
        the instance's name unless given.
        """
        from driftbandits._common import plotting as figures

        shown = figures.chosen(self.arms, arms, "arm")
        figure: Figure
        with figures.panel(ax, figsize, (7.0, 3.4), self.name if title is None else title) as (figure, axes):
            at = figures.thin(self.horizon)
            marker = "o" if self.horizon == 1 else None  # a line through one point is invisible
            for name in shown:
                arm = self.arms.index(name)
                axes.plot(at + 1, self._drawn(at, arm), label=name, marker=marker, **figures.line_style(arm))
            axes.set(xlabel="step t", ylabel="mean reward")
            if self.within(0.0, 1.0) and np.ptp(self.means) > 0.1:  # smaller ones could not be seen on all of [0, 1]
                axes.set_ylim(-0.02, 1.02)
            if self.horizon == 1:
                axes.set_xlim(0, 2)
            if not figures.logarithmic(axes, "x" if check_flag("log", log) else False)[0]:
                figures.thousands(axes.xaxis, figures.ticks_across(axes))
            if len(shown) <= MOST_LABELS:  # below, since the curves may be anywhere
                columns = min(len(shown), 3 if figures.is_narrow(axes) else 5)
                if ax is None:
                    figure.legend(ncols=columns, loc="outside lower center")
                else:
                    axes.legend(ncols=columns, loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize="small")
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the means, one row a step and one column an arm, as .npz, .csv or .parquet by the name's ending.

        A .npz file also holds ``available``, so where arms come and go it must be one, and ``reward_range``; give that
        to ``table`` when it reads another file.
        """
        ending = check_path("path", path).suffix.lower()
        if ending not in (".npz", ".csv", ".parquet"):
            raise InputError(
                f"cannot save an instance as {ending or 'a file with no ending'}: use .npz, .csv or .parquet"
            )
        if self.available is not None and ending != ".npz":
            raise InputError(f"{self.name!r} has arms that come and go, which {ending} files don't tell: save as .npz")
        with written_whole(path) as temporary:
            if ending == ".npz":
                with temporary.open("wb") as file:  # given a name, numpy would add its own ending to "means.NPZ"
                    more: Any = {} if self.named_arms is None else {"arms": np.array(self.named_arms)}
                    more |= {} if self.available is None else {"available": self.available}
                    more |= {} if self.reward_range is None else {"reward_range": np.array(self.reward_range)}
                    more["means"] = self.means
                    small = sum(array.nbytes for array in more.values()) <= MOST_EXPANDED
                    (np.savez_compressed if small else np.savez)(file, **more)
            else:
                import polars as pl

                names = self.named_arms or [unnamed(arm) for arm in range(self.n_arms)]
                table = pl.DataFrame({name: self.means[:, arm] for arm, name in enumerate(names)})
                table.write_csv(temporary) if ending == ".csv" else table.write_parquet(temporary)
                if ending == ".parquet":  # what is written can be read
                    check_parquet(temporary, "it", "save it as .npz")

    def __repr__(self) -> str:
        changes = "" if self.available is None else f", arms come or go {len(self.arm_changes):,} times"
        size = f"T={self.horizon:,}, K={self.n_arms}, drift_limit={self.drift_limit:.3g}"
        if self.reward_range is not None:
            size += f", rewards {self.reward_range[0]:g} to {self.reward_range[1]:g}"
        return f"<Instance {self.name}: {size}{changes}>"

    def _repr_html_(self) -> str:
        from driftbandits._common.plotting import COLOURS, thin

        arms = range(min(self.n_arms, MOST_LABELS))
        at = thin(self.horizon, 160)
        colours = [COLOURS[arm % len(COLOURS)] for arm in arms]
        close = np.ptp(self.means) <= 0.1 or not self.within(0.0, 1.0)  # as in the figure
        low, high = (self._least, self._largest) if close else (0.0, 1.0)
        picture = html_curves([self._drawn(at, arm).tolist() for arm in arms], colours, low, high)
        facts: dict[str, Any] = {"horizon T": self.horizon, "arms K": self.n_arms, "drift limit": self.drift_limit}
        if self.drift is not None:
            facts["drift declared"] = self.drift
        if self.reward_range is not None:
            facts["rewards"] = f"{self.reward_range[0]:g} to {self.reward_range[1]:g}"
        if self.available is not None:
            facts["times that arms come or go"] = len(self.arm_changes)
        if self.named_arms is not None:
            more = f", and {self.n_arms - len(arms):,} more" if self.n_arms > len(arms) else ""
            facts["arms"] = ", ".join(self.named_arms[: len(arms)]) + more
        note = f"the means, from {written(low)} to {written(high)}, against time"
        return html_facts(facts, f"Instance {self.name}", note) + picture

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        mine, theirs = (self.name, self.arms, self.reward_range), (other.name, other.arms, other.reward_range)
        tables = ((self.means, other.means), (self.available, other.available))
        return mine == theirs and all(np.array_equal(one, its) for one, its in tables)  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash((self.means.shape, self.means[0].tobytes(), self.means[-1].tobytes()))

    def _check_arms(self, arms: Sequence[str]) -> tuple[str, ...]:
        if len(names := check_names("arms", arms)) != self.n_arms:
            raise InputError(f"arms must name all {self.n_arms} arms, and names {len(names)}: {shown(arms)}")
        return tuple(names)

    def _check_drift(self, drift: float) -> None:
        check_drift(drift, max(1.0, self._largest - self._least, self.unit))
        if self.drift_limit > drift + ROUNDING:
            steps = np.abs(np.diff(self.means, axis=0))
            step, arm = np.unravel_index(int(steps.argmax()), steps.shape)
            called = f"arm {arm}" if self.named_arms is None else f"arm {self.named_arms[arm]!r}"
            raise InputError(
                f"the instance breaks the declared drift {drift:g}: {called} moves by {self.drift_limit:g} from step "
                f"{step + 1} to {step + 2}, which is {self.drift_limit - drift:g} too much: "
                f"declare drift={self.drift_limit:g} or smooth the means"
            )


def unnamed(arm: int) -> str:
    """The column of an arm without a name, in a file."""
    return f"arm_{arm}"


def column_names(columns: Sequence[str]) -> list[str] | None:
    """The names of arms that a table's columns tell; None if they tell numbers alone, or nothing.

    >>> column_names(["red", "blue"]), column_names(["arm_0", "arm_1"]), column_names(["0", "1"])
    (['red', 'blue'], None, None)
    """
    names = [name.strip() for name in columns]
    numbers = all(name in (str(arm), unnamed(arm), f"column_{arm}") for arm, name in enumerate(names))
    return None if numbers or not all(names) else names


def _checked(means: Any) -> Array:
    if np.ma.is_masked(means):
        first = [int(place[0]) for place in np.nonzero(np.atleast_2d(np.ma.getmaskarray(means)))]
        where = f"arm {first[1]} at step {first[0] + 1}"
        raise InputError(f"every mean must be known; {where} is masked: fill it, or cut it off")
    try:
        is_complex = np.iscomplexobj(means)
        # A copy: the caller may go on changing theirs.
        table = means if is_complex else np.array(means, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"means must be a table of numbers, one row a step, all rows of one length; got {shown(means)}"
        ) from error
    if is_complex:
        raise InputError(f"means must be real numbers; got complex ones, {shown(means)}: give their real parts")
    if table.ndim != 2:
        raise InputError(f"means must have two axes, (steps, arms); got shape {table.shape}")
    if table.shape[0] < 1:
        raise InputError("means has no rows: an instance needs at least one step")
    if table.shape[1] < 2:
        raise InputError(
            f"an instance needs at least 2 arms; got {table.shape[1]}: with one arm there is nothing to choose"
        )
    wrong = ~(np.abs(table) <= LARGEST_REWARD)
    if wrong.any():
        step, arm = map(int, np.unravel_index(int(wrong.argmax()), wrong.shape))
        raise InputError(
            f"every mean must be a finite number, at most {LARGEST_REWARD:g} in size; arm {arm} at step {step + 1} has "
            f"{table[step, arm]:g}"
        )
    table.flags.writeable = False
    return table


def _checked_available(available: Any, shape: tuple[int, ...]) -> Array | None:
    """Which arms are there; None if all always are."""
    try:
        table = np.array(as_polars(available).to_numpy() if is_frame(available) else available, order="C")
    except (TypeError, ValueError):  # rows of different lengths
        table = np.empty(0)
    if table.dtype != np.bool_:
        raise InputError(f"available must be a table of True and False, one row a step; got {shown(available)}")
    if table.shape != shape:
        raise InputError(f"available must have the shape of means, {shape}; it has {table.shape}: one row a step")
    nobody = ~table.any(axis=1)
    if nobody.any():
        raise InputError(f"at least one arm must be there at every step; at step {int(nobody.argmax()) + 1} none is")
    table.flags.writeable = False
    return None if table.all() else table


def check_always_there(instance: Instance, what: str) -> Instance:
    """Refuse an instance whose arms come and go, for ``what`` is not defined there."""
    if instance.available is not None:
        raise InputError(
            f"{what} needs arms that are always there, and those of {instance.name!r} come and go: take "
            "Instance(instance.means), in which all stay"
        )
    return instance


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
