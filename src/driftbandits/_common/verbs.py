"""Whether an object has the methods by which it is played, and takes what they are called with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from driftbandits._common.checks import is_ours, shown
from driftbandits.errors import InputError, PolicyError

POLICY = {"init": ("n_arms",), "select": ("state", "rng"), "update": ("state", "arm", "reward")}
"""What a policy's methods are called with."""
FOREIGN = {
    "river": ("pull", "update"),
    "mabwiser": ("fit", "partial_fit", "predict"),
    "smpybandits": ("startGame", "choice", "getReward"),
}
"""Methods by which policies of other libraries are told."""


def check_verbs(policy: Any, what: str = "a policy") -> None:
    """An object with a policy's methods; otherwise the error says what to do about it."""
    if isinstance(policy, type):
        name = policy.__name__
        raise InputError(f"{what} is an object, and {name} is a class: write {name}(...) in place of {name}")
    missing = [verb for verb in POLICY if not callable(getattr(policy, verb, None))]
    if missing:
        raise InputError(
            f"{what} must be an object with the methods init, select and update, such as UCB1(); got {shown(policy)}, "
            f"which has no {missing[0]}{_wrapper(policy)}"
        )
    for verb, given in () if is_ours(type(policy)) else POLICY.items():
        method = getattr(policy, verb)
        more = ("rng",) if verb == "update" and takes_rng(method) else ()
        check_call(type(policy).__name__, method, (*given, *more))


def check_call(owner: str, method: Callable[..., Any], given: tuple[str, ...]) -> None:
    """A method that can be called with so many values, in their order.

    >>> def select(state): ...
    >>> check_call("Greedy", select, ("state", "rng"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    driftbandits.errors.PolicyError: Greedy.select is called with state, rng; got select(self, state): write def ...
    """
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # of a method that is not written in Python
        return
    try:
        signature.bind(*given)
    except TypeError:
        name = getattr(method, "__name__", "it")
        own = [str(each.replace(annotation=each.empty)) for each in signature.parameters.values()]
        raise PolicyError(
            f"{owner}.{name} is called with {', '.join(given)}; got {name}({', '.join(['self', *own])}): write "
            f"def {name}({', '.join(['self', *given])})"
        ) from None


def _wrapper(policy: Any) -> str:
    """How another library's policy is played, if it is one's."""
    for library, verbs in FOREIGN.items():
        if all(callable(getattr(policy, verb, None)) for verb in verbs):
            call = f"driftbandits.interop.from_{library}(lambda n_arms, seed: ...)"
            return f"; if it is a policy of {library}, give {call}"
    return ""


def check_state(policy: Any, state: Any) -> None:
    """Raise PolicyError unless a State is what snapshots, copies and compiled code need."""
    arrays = state if isinstance(state, tuple) and hasattr(state, "_fields") else ()
    if not arrays or not all(isinstance(array, np.ndarray) and not array.dtype.hasobject for array in arrays):
        raise PolicyError(
            f"{type(policy).__name__}.init must return a NamedTuple of numpy arrays of numbers, such as "
            f"db.records(n_arms, pulls='i8', total='f8') makes; got {shown(state)}"
        )
    for (name, array), (other, second) in combinations(state._asdict().items(), 2):
        if np.may_share_memory(array, second):
            raise PolicyError(
                f"{type(policy).__name__}.init made {name} and {other} of the same memory, which copies and snapshots "
                "would not be: make each an array of its own"
            )
    event = getattr(state, "event", None)
    if event is not None and (event.shape != (1,) or "count" not in (event.dtype.names or ())):
        raise PolicyError(
            f"{type(policy).__name__}.init made a field event of another form than db.records(1, count='i8', ...), "
            "length 1 with a column count: call the field something else if it holds no events"
        )


def takes_rng(update: Callable[..., Any]) -> bool:
    """Whether a bound method ``update`` is to be called with a random generator after the reward.

    >>> takes_rng(lambda state, arm, reward: None), takes_rng(lambda state, arm, reward, rng: None)
    (False, True)
    """
    return _fourth_is_rng(getattr(update, "__func__", update), hasattr(update, "__self__"))


@functools.lru_cache(maxsize=1024)
def _fourth_is_rng(function: Any, bound: bool) -> bool:
    try:
        names = list(inspect.signature(getattr(function, "py_func", function)).parameters)
    except (TypeError, ValueError):  # of a method that is not written in Python
        return False
    return names[3 + bound : 4 + bound] == ["rng"]
