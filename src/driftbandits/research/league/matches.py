"""The matches of the league: an instance and its noise each. They are fixed, and no policy is tuned on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from driftbandits import instances
from driftbandits._common.checks import check_horizon
from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.instances.noise import Bernoulli, Gaussian, Noise
from driftbandits.policies import POLICIES, Policy, make_policy
from driftbandits.simulation.changing import check_arms_on

STATIONARY, DRIFTING, ABRUPT, REAL, HARDEST = "stationary", "drifting", "abrupt", "real", "lower bound"
CHANGING = "changing arms"
KINDS = (DRIFTING, STATIONARY, ABRUPT, REAL, HARDEST, CHANGING)
LEFT_OUT = ("Oracle",)
"""It is told the best arm, so it is no competitor."""

DRAWS = 3
"""Random draws of each family that has any."""
JUMPS = 5
SHORTEST = 5_000
"""The shortest horizon on which every instance that drifts does so."""
SEED = 20_210
"""The seed of the draws. No policy may be tuned on these instances: draw others for that."""
USUAL, COIN = Gaussian(0.5), Bernoulli()


@dataclass(frozen=True)
class Match:
    """One match: an instance, its noise, and the kind of change in it. Every policy defined for it plays."""

    name: str
    family: str
    kind: str
    instance: Instance
    noise: Noise

    @property
    def drift(self) -> float:
        """The drift it has; where means jump, the total variation spread evenly over time, V/T, which tunings use.

        Elsewhere a policy is told the drift that an instance declares. Here it is told the one that it has, which is at
        most 1 % less: the standings that ship with the package were played so.
        """
        if self.kind == ABRUPT:
            steps = np.abs(np.diff(self.instance.means, axis=0)).max(axis=1)
            return float(steps.sum()) / self.instance.horizon
        return self.instance.drift_limit

    def entrants(self) -> dict[str, Policy]:
        """Every policy that is defined for this match, told what its own tuning asks for."""
        chosen = {}
        for name in sorted(set(POLICIES) - set(LEFT_OUT)):
            try:
                policy = make_policy(name, self.instance, **self._known(name))
                policy.check_arms(self.instance.n_arms)
                check_arms_on(policy, self.instance)
            except InputError:
                continue  # a tuning that is undefined here, or too many arms
            chosen[name] = policy
        return chosen

    def _known(self, name: str) -> dict[str, Any]:
        """Delta and the shape of the noise; where means jump, the number of jumps for those that ask for it."""
        known: dict[str, Any] = {"drift": self.drift, **shape(isinstance(self.noise, Gaussian))}
        if self.kind == ABRUPT and {"changes", "nu"} & asked(name):
            known |= {"drift": None, "changes": JUMPS, "nu": math.log(JUMPS) / math.log(self.instance.horizon)}
        return known


def shape(gaussian: bool) -> dict[str, str]:
    """What policies are told of the noise: Gaussian of deviation 1/2, which is their own default, or in [0, 1]."""
    binary = {"kl": "bernoulli", "test": "bernoulli", "posterior": "beta"}
    return dict.fromkeys(binary, "gaussian") if gaussian else binary


def asked(name: str) -> set[str]:
    """The names of a policy's parameters."""
    return {field.name for field in fields(POLICIES[name])}  # type: ignore[arg-type]


def told(name: str) -> str:
    """What a policy is told of a drifting instance, read from its parameters.

    >>> told("UCB1"), told("GLRUCB"), told("DUCB"), told("SnoozeIt")
    ('nothing', 'T', 'δ', 'T and δ')
    """
    parameters = asked(name) - ({"horizon"} if _does_without_horizon(name) else set())
    return " and ".join(word for key, word in (("horizon", "T"), ("drift", "δ")) if key in parameters) or "nothing"


def _does_without_horizon(name: str) -> bool:
    """Whether delta is enough: some policies take the horizon only to make something of a number of changes."""
    try:
        return "changes" in asked(name) and bool(POLICIES[name](drift=1e-3))  # type: ignore[call-arg]
    except (InputError, TypeError):
        return False


def needs(words: str) -> set[str]:
    """What ``told`` says, as a set, to compare which policy is told more.

    >>> sorted(needs("T and δ")), needs("nothing")
    (['T', 'δ'], set())
    """
    return set(words.split(" and ")) - {"nothing"}


def matches(horizon: int) -> Iterator[Match]:
    """All matches of the league, in a fixed order."""
    if check_horizon(horizon) < SHORTEST:
        raise InputError(f"the league's instances need horizon >= {SHORTEST:,}; got {horizon:,}")
    yield Match("separated", "separated", DRIFTING, instances.separated(horizon), USUAL)
    yield Match("toggling", "toggling", DRIFTING, instances.toggling(horizon), USUAL)
    for k in (1, 2, 3, 4):
        yield Match(f"common periods {k}", "common periods", DRIFTING, instances.common_periods(k, horizon), USUAL)
    for k in (1, 2, 3, 4):
        yield Match(f"equal drift {k}", "equal drift", DRIFTING, instances.equal_drift(k, horizon), USUAL)
    yield Match("sinusoid 1e-4", "sinusoid", DRIFTING, instances.sinusoid(horizon, 1e-4), USUAL)
    yield Match("walk 1e-4", "walk", DRIFTING, instances.walk(horizon, 1e-4, seed=SEED), USUAL)
    yield Match("wave 1e-4, 5 arms", "wave", DRIFTING, instances.wave(horizon, 1e-4, 5), COIN)
    yield Match("wave 1e-4, 20 arms", "wave", DRIFTING, instances.wave(horizon, 1e-4, 20), COIN)
    for place, (family, (kind, draw)) in enumerate(_DRAWN.items()):
        for number in range(1, DRAWS + 1):
            rng = np.random.default_rng([SEED, place, number])
            noise = COIN if family == "fading links" or number % 2 else USUAL
            yield Match(f"{family}, draw {number}", family, kind, draw(horizon, rng), noise)
    for name, means in {"easy": (0.9, 0.1), "close": (0.55, 0.45), "rare successes": (0.02, 0.01)}.items():
        yield Match(f"stationary, {name}", STATIONARY, STATIONARY, instances.stationary(horizon, means), COIN)
    yield Match("clicks", "clicks", REAL, instances.clicks(horizon), COIN)
    yield Match("ad prices, cpc", "ad prices", REAL, instances.ad_prices(horizon, "cpc"), USUAL)
    yield Match("ad prices, cpm", "ad prices", REAL, instances.ad_prices(horizon, "cpm"), COIN)
    yield Match("tweets", "tweets", REAL, instances.tweets(horizon), COIN)
    yield Match("weather", "weather", REAL, instances.weather(horizon), USUAL)


def _drift(rng: np.random.Generator) -> float:
    return float(10 ** rng.uniform(-5, -3))


def _arms(rng: np.random.Generator) -> int:
    return int(rng.integers(2, 9))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _sinusoid(horizon: int, rng: np.random.Generator) -> Instance:
    return instances.sinusoid(horizon, _drift(rng), _arms(rng), amplitude=float(rng.uniform(0.1, 0.5)))


def _walk(horizon: int, rng: np.random.Generator) -> Instance:
    reverse = float(10 ** rng.uniform(-4, -2))
    return instances.walk(horizon, _drift(rng), _arms(rng), reverse, _seed(rng))


def _wave(horizon: int, rng: np.random.Generator) -> Instance:
    return instances.wave(horizon, _drift(rng), int(rng.integers(3, 13)))


def _fading(horizon: int, rng: np.random.Generator) -> Instance:
    doppler = float(10 ** rng.uniform(-5, -4))
    return instances.fading(horizon, _arms(rng), doppler, float(rng.uniform(0, 10)), _seed(rng))


def _stationary(horizon: int, rng: np.random.Generator) -> Instance:
    return instances.stationary(horizon, rng.random(_arms(rng)).tolist())


def _abrupt(horizon: int, rng: np.random.Generator) -> Instance:
    return instances.abrupt(horizon, _arms(rng), JUMPS, _seed(rng))


def _changing(horizon: int, rng: np.random.Generator) -> Instance:
    """Between 4 and 9 arms, each of which comes or goes a few times."""
    arms, drift = int(rng.integers(4, 10)), _drift(rng)
    stay, away = (float(horizon * rng.uniform(least, most)) for least, most in ((0.05, 0.2), (0.02, 0.1)))
    return instances.coming_and_going(horizon, drift, arms, stay, away, seed=_seed(rng))


def _hardest(horizon: int, rng: np.random.Generator) -> Instance:
    return instances.lower_bound(horizon, _drift(rng), _seed(rng))


_DRAWN: dict[str, tuple[str, Callable[[int, np.random.Generator], Instance]]] = {
    "sinusoid": (DRIFTING, _sinusoid),
    "walk": (DRIFTING, _walk),
    "wave": (DRIFTING, _wave),
    "fading links": (DRIFTING, _fading),
    STATIONARY: (STATIONARY, _stationary),
    ABRUPT: (ABRUPT, _abrupt),
    HARDEST: (HARDEST, _hardest),
    "coming and going": (CHANGING, _changing),
}
