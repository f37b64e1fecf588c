"""Every policy of the package by name, and how one is made from what is known of an instance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from driftbandits import policies
from driftbandits._common.checks import did_you_mean, shown
from driftbandits._common.rewards import rewards_of
from driftbandits._common.verbs import check_verbs
from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.policies.base import Policy
from driftbandits.policies.doubling import Doubling

_listed = [getattr(policies, name) for name in dir(policies) if name not in ("POLICIES", "make_policy")]
POLICIES: dict[str, type[Policy]] = {each.__name__: each for each in _listed if each not in (Policy, Doubling)}
"""Every policy of the package; not Doubling, which needs another one to begin with."""


DEFAULT = "BreakEven"
"""The policy of Sessions, experiments and replays that name none: it requires no parameters."""

_TELLS: dict[str, Callable[[Instance], Any]] = {
    "horizon": lambda instance: instance.horizon,
    "drift": lambda instance: instance.drift_limit if instance.drift is None else instance.drift,
    "best_arms": lambda instance: instance.best_arm,
}


def told_by(instance: Instance, parameters: Collection[str]) -> dict[str, Any]:
    """What an instance tells a policy that has these parameters: the horizon, the drift, the best arms.

    The drift is the one that the instance declares; one that declares none tells the drift it has. A policy is promised
    an upper bound, and the declared one is the same for every horizon and every draw of a family. The largest step
    that an instance happens to make differs from it by rounding. Cut short before it moves, an instance has a drift of
    0, for which many tunings are undefined.

    >>> from driftbandits import instances
    >>> told_by(instances.toggling(horizon=100, drift=0.01), ["horizon", "drift", "sigma"])
    {'horizon': 100, 'drift': 0.01}
    """
    return {name: tell(instance) for name, tell in _TELLS.items() if name in parameters}


def policy_for(instance: Instance, make: Callable[..., Any], told: dict[str, Any], given: dict[str, Any]) -> Any:
    """The policy that ``make`` makes of what its instance has ``told`` it and of what else was ``given``.

    One that learns rewards rescaled from the instance's ``reward_range`` is told the drift on that scale, as all its
    parameters are, and at most 1; others that of the means.

    >>> money = Instance([[20.0, 30.0], [21.0, 30.0]], reward_range=(0, 100))
    >>> policy_for(money, policies.DUCB, told_by(money, ["drift"]), {}).drift
    0.01
    >>> policy_for(money, policies.KalmanTS, told_by(money, ["drift"]), {"sigma": 20.0}).drift
    1.0
    """
    if "drift" in told and (instance.unit != 1.0 or told["drift"] > 1.0):
        made = make(**{**told, "drift": min(1.0, told["drift"] / instance.unit)}, **given)
        if rewards_of(made).rescaled:
            return made
    return make(**told, **given)


def make_policy(name: str, instance: Instance | None = None, /, **known: Any) -> Policy:
    """The policy called ``name``, given whatever of ``known`` (horizon, drift, ...) it has a parameter for.

    What ``known`` leaves open, the policy is told by its ``instance``, if there is one: see ``told_by``.

    >>> make_policy("SWUCBSharp", horizon=1_000, drift=0.01)
    SWUCBSharp(horizon=1000, drift=0.01, nu=None, alpha=None, lam=None)
    >>> make_policy("RoundRobin", horizon=1_000, drift=0.01)
    RoundRobin()
    """
    if name == "Doubling":
        raise InputError(
            "Doubling is made of another policy, so its name alone is not enough: in Python, write "
            "Doubling(DriftUCB(horizon=1_000, drift=1e-4))"
        )
    if not isinstance(name, str) or name not in POLICIES:
        hint = did_you_mean(name, POLICIES)
        raise InputError(f"unknown policy {shown(name)}; {hint}known: {', '.join(sorted(POLICIES))}")
    parameters = fields(POLICIES[name])  # type: ignore[arg-type]
    wanted = {field.name for field in parameters}
    given = {key: value for key, value in known.items() if key in wanted}
    told = {} if instance is None else told_by(instance, wanted - known.keys())
    required = [field.name for field in parameters if field.default is field.default_factory is MISSING]
    if missing := [parameter for parameter in required if parameter not in {**told, **given}]:
        example = ", ".join(f"{parameter}=..." for parameter in required)
        raise InputError(f"{name} needs {' and '.join(missing)}: give {name}({example})")
    if instance is None:
        return POLICIES[name](**given)
    return policy_for(instance, POLICIES[name], told, given)  # type: ignore[no-any-return]


def short_horizon(policy: Any, steps: int) -> str | None:
    """What to say of a policy that is to play more steps than it was told; None if it is not.

    >>> from driftbandits.policies import DriftUCB
    >>> print(short_horizon(DriftUCB(100, 0.01), 3_000))
    DriftUCB was told horizon=100 and is to play 3,000 steps, for which it was not tuned: give it horizon=3000, \
or make it Doubling(...)
    """
    horizon = getattr(policy, "horizon", None)
    if not isinstance(policy, Policy) or horizon is None or horizon >= steps:
        return None
    return (
        f"{type(policy).__name__} was told horizon={horizon} and is to play {steps:,} steps, for which it was not "
        f"tuned: give it horizon={steps}, or make it Doubling(...)"
    )


def name_policies(given: Any, make: Callable[[str], Any]) -> dict[str, Any]:
    """Policies by name, from a mapping, a list, or one alone; ``make`` makes those that are names of this package's.

    Without a name of its own a policy has that of its class, and of several of one class each also has what differs.

    >>> from driftbandits.policies import SWUCB
    >>> list(name_policies([SWUCB(window=50, xi=0.6), SWUCB(window=90, xi=0.6), "UCB1"], make_policy))
    ['SWUCB(window=50)', 'SWUCB(window=90)', 'UCB1']
    """
    if isinstance(given, Mapping):
        named = {name: make(each) if isinstance(each, str) else each for name, each in given.items()}
    else:
        listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        made = [make(each) if isinstance(each, str) else each for each in listed]
        for each in made:
            check_verbs(each)
        named = dict(zip(_names_of(made), made, strict=True))
    if not named:
        raise InputError('policies must hold at least one policy, as in {"SnoozeIt": SnoozeIt(horizon=..., drift=...)}')
    for name, policy in named.items():
        if not isinstance(name, str):
            raise InputError(f"the name of a policy must be text; got {shown(name)}")
        if not name or name != name.strip() or not name.isprintable():
            raise InputError(
                "the name of a policy must have visible characters only, and no spaces at its ends, as tables and "
                f"figures show it; got {name!r}"
            )
        check_verbs(policy, f"policy {name!r}")
    return named


def _names_of(made: Sequence[Any]) -> list[str]:
    """The names of classes; where several share one, followed by the parameters in which they differ."""
    names = []
    for policy in made:
        alike = [other for other in made if type(other) is type(policy)]
        differing = [
            field.name
            for field in (fields(policy) if is_dataclass(policy) else ())
            if len({repr(getattr(other, field.name)) for other in alike}) > 1
        ]
        settings = ", ".join(f"{name}={getattr(policy, name)!r}" for name in differing)
        names.append(type(policy).__name__ + (f"({settings})" if settings else ""))
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two policies of the list are {name}: give them names, as in {{'first': {name}, ...}}")
    return names
