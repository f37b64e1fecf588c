"""Policies and noise whose methods take something else than they are called with; objects that have no repr."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftbandits as db

SHORT = db.instances.walk(40, drift=0.01)


class Right:
    def init(self, n_arms: int) -> Any:
        return None

    def select(self, state: Any, rng: Any) -> int:
        return 0

    def update(self, state: Any, arm: int, reward: float) -> None:
        pass


class NoRandomness(Right):
    def select(self, state: Any) -> int:  # type: ignore[override]
        return 0


class NoArm(Right):
    def update(self, state: Any, reward: float) -> None:  # type: ignore[override]
        pass


class NoNumber(Right):
    def init(self) -> Any:  # type: ignore[override]
        return None


class More(Right):
    """What has defaults may be there."""

    def select(self, state: Any, rng: Any, temperature: float = 1.0) -> int:
        return 0

    def update(self, *given: Any) -> None:
        pass


@dataclass(frozen=True)
class CompiledNoRandomness(db.UCB1):
    def select(self, state: Any) -> int:  # type: ignore[override]
        return 0


@dataclass(frozen=True)
class NoMean(db.Noise):
    def draw(self, rng: np.random.Generator) -> float:  # type: ignore[override]
        return 0.0


ARMS = np.random.default_rng(0).integers(0, 2, 400)
LOG = pl.DataFrame({"step": range(400), "arm": ARMS, "reward": 0.5, "probability": 0.5})
PLAY: dict[str, Callable[[Any], Any]] = {
    "simulate": lambda policy: db.simulate(policy, SHORT, runs=1),
    "Online": lambda policy: db.Online(policy, 2),
    "replay": lambda policy: db.replay(LOG, {"mine": policy}),
}


@pytest.mark.parametrize("way", PLAY)
@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (
            NoRandomness(),
            r"NoRandomness\.select is called with state, rng; got select\(self, state\): write def select\(s",
        ),
        (NoArm(), r"NoArm\.update is called with state, arm, reward; got update\(self, state, reward\): write def u"),
        (NoNumber(), r"NoNumber\.init is called with n_arms; got init\(self\).*: write def init\(self, n_arms\)"),
        (CompiledNoRandomness(), r"CompiledNoRandomness\.select is called with state, rng; got select\(self, state"),
    ],
)
def test_a_method_that_takes_something_else(way: str, policy: Any, said: str) -> None:
    with pytest.raises(db.PolicyError, match=said):
        PLAY[way](policy)


def test_a_session_says_so_too() -> None:
    with pytest.raises(db.PolicyError, match="is called with state, rng; got select"):
        db.Session(CompiledNoRandomness(), ["a", "b"])


def test_what_is_not_needed_may_be_there() -> None:
    assert db.simulate(More(), SHORT, runs=1).runs == 1


def test_noise_that_takes_something_else() -> None:
    with pytest.raises(db.PolicyError, match=r"NoMean\.draw is called with mean, rng; got draw\(self, rng"):
        db.simulate("UCB1", SHORT, NoMean(), runs=1)


class Shy:
    """It has no repr, and no shape either."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    @property
    def shape(self) -> Any:
        raise RuntimeError("no shape")


@pytest.mark.parametrize(
    "call",
    [
        lambda shy: db.simulate(shy, SHORT),
        lambda shy: db.simulate({"shy": shy}, SHORT),
        lambda shy: db.simulate({shy: db.UCB1()}, SHORT),
        lambda shy: db.simulate("UCB1", SHORT, shy),
        lambda shy: db.simulate("UCB1", SHORT, runs=shy),
        lambda shy: db.Online(shy, 2),
        lambda shy: db.Session(shy, ["a", "b"]),
        lambda shy: db.Session(arms=["a", shy]),
        lambda shy: db.Session(arms=["a", "b"], reward_range=shy),
        lambda shy: db.Session(arms=["a", "b"], reward_range=[shy, 1]),
        lambda shy: db.replay(shy),
        lambda shy: db.replay(LOG, {"shy": shy}),
        lambda shy: db.replay(LOG, columns={"step": shy}),
        lambda shy: db.Instance([[0.5, 0.5]], arms=[shy]),
        lambda shy: db.instances.ad_prices(price=shy),
        lambda shy: db.MUCB(1_000, tuning=shy),
        lambda shy: db.Sweep({"policy": shy, "instance": "walk"}),
        lambda shy: db.Sweep({"policy": "UCB1", "instance": shy}),
        lambda shy: db.Sweep({"policy": "UCB1", "instance": "walk", "horizon": [shy, shy]}),
        lambda shy: db.Sweep(shy),
        lambda shy: db.simulate("UCB1", SHORT, runs=1).plot(policies=[shy]),
    ],
)
def test_an_object_without_a_repr_breaks_no_error(call: Callable[[Any], Any]) -> None:
    with pytest.raises(db.InputError):
        call(Shy())
