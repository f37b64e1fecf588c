"""AutoTS says how much it knows: its 95 % intervals hold the mean about that often, from the first reward on."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import driftbandits as db

KINDS: dict[str, tuple[Callable[[np.random.Generator, float], float], tuple[float, float]]] = {
    "coins": (lambda rng, mean: float(rng.random() < mean), (0.7, 0.9)),
    "gaussian": (lambda rng, mean: mean + 0.5 * rng.standard_normal(), (0.5, 0.6)),
    "far apart": (lambda rng, mean: mean + 0.1 * rng.standard_normal(), (0.0, 3.0)),
}
RUNS = 100


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_the_mean(kind: str) -> None:
    draw, means = KINDS[kind]
    online, rng = db.Online(db.AutoTS(), 2, seed=1), np.random.default_rng(7)
    fresh = online.snapshot()
    held = dict.fromkeys((1, 2, 3, 4, 6, 10, 20), 0)
    asked = dict.fromkeys(held, 0)
    for _ in range(RUNS):
        online.restore(fresh)
        for t in range(1, 21):
            online.update(t % 2, draw(rng, means[t % 2]))
            if t in held:
                belief = db.AutoTS().belief(online.state)
                assert belief.low is not None
                assert belief.high is not None
                for arm, mean in enumerate(means):
                    if not math.isnan(belief.low[arm]):
                        asked[t] += 1
                        held[t] += bool(belief.low[arm] <= mean <= belief.high[arm])
    shares = {t: held[t] / asked[t] for t in held}
    assert min(shares.values()) > 0.87, shares


def test_equal_rewards_tell_nothing_of_the_noise() -> None:
    session = db.Session(arms=["red", "blue"])
    for _ in range(2):
        session.tell(session.ask().id, 1.0)
        why = session.explain(session.ask())
        known = [arm for arm in why.as_dict()["arms"] if arm["estimate"] is not None]
        assert {(arm["estimate"], arm["low"], arm["high"]) for arm in known} == {(1.0, None, None)}
        assert "-inf to inf" in str(why)


@pytest.mark.parametrize("policy", [db.AutoTS(), db.BreakEven()])
def test_two_rewards_that_hardly_differ_are_no_coin(policy: db.Policy) -> None:
    """One divided by their distance is infinite; draws for a coin whose chance is no number never ended."""
    play, least = db.Online(policy, 3), 5e-324
    for step in range(60):
        play.update(step % 3, least * (step // 3 % 2))
        assert play.state.run[0].coin == 0
    assert 0 <= play.select() < 3
    parts = [array[name] for array in play.state[2:] for name in array.dtype.names or (...,)]
    assert all(np.isfinite(part).all() for part in parts)
