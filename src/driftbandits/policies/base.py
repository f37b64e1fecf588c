"""What a policy is: immutable hyper-parameters, a State, and two kernels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from driftbandits._common.checks import FOREVER, check_whole, shown
from driftbandits._common.notebook import html_facts
from driftbandits._common.records import Record, as_records
from driftbandits._common.records import Records as Records
from driftbandits._common.rewards import Rewards
from driftbandits._numba.compiled import Compiled
from driftbandits._numba.player import ENDLESS, Stage
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance
from driftbandits.policies._parts.belief import Belief

ARMS_CHANGE = {
    "native": "all it learnt stays; a new arm begins with what all arms have told",
    "snoozed": "an arm that is off is snoozed from outside; those that it had snoozed wake up",
    "anew": "it begins anew with the arms that are there, and learns their last rewards again",
    "told": "it is told beforehand which arm is best, among those that are there",
}
"""What a policy does when arms come and go."""


class State(Protocol):
    """A NamedTuple of numpy arrays, most of them record arrays: all a policy has learnt, and the values it runs on.

    This is what can be done with a State whose policy is not known. A policy's own methods name its own State, with
    its fields; so ``Policy`` takes a State as Any, for a subclass may not ask for more than its base.
    """

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...

    def _asdict(self) -> dict[str, Any]: ...


class Policy(Compiled):
    """Base of compiled policies; subclasses are frozen dataclasses of hyper-parameters.

    A policy has ``init(n_arms) -> State`` in plain Python, and two kernels in the subset of Python that numba compiles:
    ``select(self, state, rng) -> arm`` and ``update(self, state, arm, reward)``, or ``update(self, state, arm, reward,
    rng)`` if it draws random numbers. In the kernels ``self`` has the fields annotated ``float``, ``int`` or ``bool``.
    ``update`` requires the arm that ``select`` chose.

    A policy whose ``update`` puts work off may have a third kernel, ``settle(self, state)``, which does it: the State
    then needs less room. It is called before more room is made.

    A policy can count pending rewards. If the record array ``arms`` of its State has a
    column ``pending``, whoever plays it keeps there how many rewards of each arm have not come yet, by what was really
    played: that may be another arm than ``select`` chose. ``select`` reads it and changes nothing.

    A State may be longer than needed: what lies beyond its logical length is never read before it is written. So a
    simulation allocates it once (``reserve``) and starts every run by copying the few bytes of ``init`` over it.
    """

    arms: ClassVar[tuple[int, float]] = (2, math.inf)
    """The smallest and the largest number of arms the policy is defined for."""

    any_order: ClassVar[bool] = False
    """Whether ``update`` may be told any arm at any time, chosen or not: then rewards can be learnt as they come."""

    arms_change: ClassVar[str] = "anew"
    """What becomes of what it learnt when arms come and go, a key of ``ARMS_CHANGE``."""

    snoozes: ClassVar[bool] = False
    """Whether it leaves an arm alone for a while once it is found to be worse; then it explores while none is."""

    @property
    def rewards(self) -> Rewards:
        """The rewards it is defined for; a class attribute will do where no parameter decides.

        Other rewards are an error. ``Rewards.UNIT`` and ``Rewards.SCALED`` are rescaled where a range is declared.
        """
        return Rewards.REAL

    def init(self, n_arms: int) -> State:
        """The State before the first step."""
        raise NotImplementedError

    def select(self, state: Any, rng: np.random.Generator) -> int:
        """Kernel: the arm to pull now."""
        raise NotImplementedError

    def update(self, state: Any, arm: int, reward: float) -> None:
        """Kernel: learn from the reward of that pull."""
        raise NotImplementedError

    def reserve(self, state: Any, steps: int) -> Any:
        """The same State with room for ``steps`` more updates; itself when it has room already."""
        return state

    def has_room(self, state: Any, steps: int) -> bool:
        """Whether the State's arrays surely bear ``steps`` more updates, whatever the rewards are.

        The Player asks after every ``reserve``: a policy that counted wrongly gets an error, and writes
        nothing beyond an array. A State that does not grow always has room.
        """
        return True

    def add_arm(self, state: Any) -> Any:
        """The same State with one arm more, of which nothing is known; for policies that don't begin anew.

        What was chosen for the number of arms at first, such as a window, stays.
        """
        n_arms = len(state.arms)
        before, after = self.init(n_arms), self.init(n_arms + 1)
        return type(state)(*map(_with_arm, state, before, after))

    def set_arm(self, state: Any, arm: int, on: bool) -> None:
        """Whether the arm may be chosen from now on; for policies that don't begin anew."""
        state.arms[arm].off = not on

    def why_never(self, instance: Instance | None = None) -> str | None:
        """Why the policy can't do what it is for, at all or on an instance; None if nothing speaks against it.

        SnoozeIt, SnoozeItTight and SnoozeItK say so where they cannot snooze an arm.
        """
        return None

    def parameters(self, n_arms: int) -> dict[str, float]:
        """What the policy chose to run with (window, gamma, ...), by name; known before it runs."""
        return {}

    def stage(self, step: int) -> Stage:
        """The stage that plays after ``step`` steps: the policy itself, from first to last, unless it restarts.

        The Player plays the stages of a policy. All are of one class, so compiled code need not change.
        """
        return Stage(self, 0, ENDLESS)

    def probabilities(self, state: Any) -> np.ndarray[Any, Any] | None:
        """The exact probability with which ``select`` chooses each arm now; None for a policy that can't tell.

        A Session keeps them, so that its log can be replayed. What ``select`` draws must be all that is left to chance:
        a policy whose ``update`` has drawn the arm already has no probabilities.
        """
        return None

    def belief(self, state: Any) -> Belief:
        """What the policy thinks of the arms; empty for a policy that keeps no estimates."""
        return Belief()

    def forecast(self, state: Any, steps: int) -> Belief:
        """What it would believe so many steps on if it learnt nothing more; empty for one that does not look ahead."""
        return Belief()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name, as scikit-learn asks for them: its ``clone`` then copies a policy.

        >>> from driftbandits import SWUCBSharp
        >>> SWUCBSharp(horizon=1_000, drift=0.01).get_params()["horizon"]
        1000
        """
        return {field.name: getattr(self, field.name) for field in fields(self)} if is_dataclass(self) else {}

    def _repr_html_(self) -> str:
        given = {name: value for name, value in self.get_params().items() if value is not None}
        fewest = self.arms[0]
        chosen = {f"{name} (chosen, {fewest} arms)": value for name, value in self.parameters(fewest).items()}
        return html_facts({**given, **chosen}, type(self).__name__)

    def check_arms(self, n_arms: int) -> None:
        """Raise InputError when the policy is not defined for so many arms."""
        low, high = self.arms
        if not low <= n_arms <= high:
            wanted = f"exactly {low}" if low == high else f"at least {low}"
            another = "another policy, such as SnoozeItK" if low == high else "more arms"
            raise InputError(f"{type(self).__name__} is defined for {wanted} arms, not for {n_arms}: take {another}")


def _with_arm(array: Any, before: Any, after: Any) -> Any:
    """An array of a State with one arm more, if its length is a matter of the number of arms."""
    if before.shape == after.shape:
        return array.copy()
    after[: len(before)] = array
    return after


def records(length: int, **columns: str) -> Records:
    """A zeroed record array with aligned columns: the building block of a State.

    >>> arms = records(3, pulls="i8", total="f8")
    >>> arms[1].pulls += 1
    >>> arms.pulls
    array([0, 1, 0])
    """
    for name in columns:
        if hasattr(Record, name) or hasattr(Records, name):
            raise InputError(f"a column cannot be called {name!r}: numpy's records use that name for themselves")
    length = check_whole("length", length, 0, FOREVER)
    try:
        layout = np.dtype(list(columns.items()), align=True)
        if not columns:
            raise TypeError
    except TypeError:
        raise InputError(
            f"a column is a name and a kind of number, as in records(3, pulls='i8', total='f8'); got {shown(columns)}"
        ) from None
    if layout.itemsize != sum(np.dtype(kind).itemsize for kind in columns.values()):
        raise InputError(f"{columns} would leave gaps between columns, whose bytes no snapshot keeps: use i8 and f8")
    try:
        return as_records(np.zeros(length, layout))
    except (MemoryError, ValueError):
        raise InputError(f"{length:,} records of {layout.itemsize} bytes do not fit in memory: take fewer") from None
