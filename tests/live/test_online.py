"""A policy played by hand: the same as in a simulation, and unmoved by bad input."""

from __future__ import annotations

import io
import math
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import driftbandits as db
from driftbandits._numba.player import AHEAD
from driftbandits.simulation.engine import OWN, stream
from driftbandits.simulation.trajectory import trajectory
from stubborn import Stubborn

BAD_REWARDS = [math.nan, math.inf, -math.inf, 1e101]


@pytest.fixture(params=["SnoozeIt", "SWUCBSharp", "Rexp3"])
def play(request: pytest.FixtureRequest) -> db.Online:
    policies = {
        "SnoozeIt": db.SnoozeIt(10_000, 1e-4, confidence=0.1),
        "SWUCBSharp": db.SWUCBSharp(10_000, 1e-4),
        "Rexp3": db.Rexp3(10_000, 1e-4),
    }
    online = db.Online(policies[request.param], n_arms=2, seed=3)
    for reward in np.random.default_rng(0).normal(0.5, 0.5, 300):
        online.update(online.select(), reward)
    return online


@pytest.mark.parametrize("reward", BAD_REWARDS)
def test_a_bad_reward_changes_nothing(play: db.Online, reward: float) -> None:
    before = play.snapshot()
    with pytest.raises(db.InputError, match="must be finite"):
        play.update(0, reward)
    assert play.snapshot() == before


@pytest.mark.parametrize("arm", [-1, 2, 0.5])
def test_an_unknown_arm_changes_nothing(play: db.Online, arm: Any) -> None:
    before = play.snapshot()
    with pytest.raises(db.InputError, match=f"there is no arm {arm}: arms are 0 to 1"):
        play.update(arm, 0.5)
    assert play.snapshot() == before


@pytest.mark.parametrize(("arm", "reward"), [(None, 0.5), (math.nan, 0.5), (math.inf, 0.5), (0, "much"), (0, None)])
def test_what_is_no_number_changes_nothing(play: db.Online, arm: Any, reward: Any) -> None:
    before = play.snapshot()
    with pytest.raises(db.InputError, match=f"must be numbers; got arm {arm!r} and reward {reward!r}"):
        play.update(arm, reward)
    assert play.snapshot() == before


def test_a_foreign_snapshot_is_refused(play: db.Online) -> None:
    before = play.snapshot()
    other = db.Online(db.Exp3S(10_000, 1e-4), n_arms=2)
    for data in (other.snapshot(), b"", b"not a snapshot", before[:100]):
        with pytest.raises(db.InputError, match=r"not a snapshot of|a snapshot of Exp3S.*cannot continue"):
            play.restore(data)
    assert play.snapshot() == before


@pytest.mark.parametrize(("batch", "n_arms"), [(9, 5), (8, 3)])
def test_a_snapshot_of_other_arms_or_parameters_is_refused(batch: int, n_arms: int) -> None:
    """The State's arrays would be accepted as they are, and select could answer an arm that does not exist."""
    play, other = db.Online(db.Rexp3(batch=9), 3), db.Online(db.Rexp3(batch=batch), n_arms)
    before = play.snapshot()
    with pytest.raises(db.InputError, match=r"snapshot of Rexp3\(.*batch=[89].* with [35] arms; it cannot continue"):
        play.restore(other.snapshot())
    assert play.snapshot() == before


class PagesState(NamedTuple):
    run: Any
    page: Any


@dataclass(frozen=True)
class Pages(db.Policy):
    """Writes every reward down, on pages that are never longer than asked for.

    Citation: none.
    """

    def init(self, n_arms: int) -> PagesState:
        return PagesState(db.records(1, t="i8"), np.zeros(1))

    def reserve(self, state: PagesState, steps: int) -> PagesState:
        page = np.zeros(int(state.run[0].t) + steps)
        page[: state.run[0].t] = state.page[: state.run[0].t]
        return state._replace(page=page)

    def select(self, state: PagesState, rng: np.random.Generator) -> int:
        return 0

    def update(self, state: PagesState, arm: int, reward: float) -> None:
        if state.run[0].t < len(state.page):  # else it would write into memory that is not its own
            state.page[state.run[0].t] = reward
        state.run[0].t += 1


def test_a_snapshot_of_an_earlier_form_of_a_policy_is_refused_in_a_sentence() -> None:
    """Its State had other fields: numpy would list all of them, twice."""
    play = db.Online(db.BreakEven(), 2)
    with np.load(io.BytesIO(play.snapshot())) as stored:
        arrays: dict[str, Any] = {name: stored[name] for name in stored.files}
    run = arrays["state.run"]
    arrays["state.run"] = run[[name for name in run.dtype.names if name != "best"]]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    with pytest.raises(db.InputError, match="other fields now; restore it with the version") as told:
        play.restore(buffer.getvalue())
    assert len(str(told.value)) < 250


def test_there_is_room_for_every_update_also_after_restore() -> None:
    play, copy = db.Online(Pages(), 2), db.Online(Pages(), 2)
    kept = play.snapshot()
    for step in range(3 * AHEAD):
        if step == AHEAD - 1:
            kept = play.snapshot()
        play.update(0, 1.0 + step)
    assert play.state.page[: 3 * AHEAD].tolist() == [1.0 + step for step in range(3 * AHEAD)]
    copy.restore(kept)
    for step in range(AHEAD - 1, 2 * AHEAD):
        copy.update(0, 1.0 + step)
    assert copy.state.page[: 2 * AHEAD].tolist() == [1.0 + step for step in range(2 * AHEAD)]


def test_online_is_the_simulation_step_by_step(play: db.Online) -> None:
    """Fed a run's rewards, with the run's own random stream, it makes the run's choices."""
    played = trajectory(play.policy, db.instances.sinusoid(horizon=3_000, drift=1e-3), seed=9, run=2)
    by_hand = db.Online(play.policy, n_arms=2)
    by_hand._player.restart(stream(9, 2, OWN))
    for arm, reward in zip(played.arms, played.rewards, strict=True):
        assert by_hand.select() == arm
        by_hand.update(arm, reward)


def test_seed_and_arms_are_checked() -> None:
    with pytest.raises(db.InputError, match="seed"):
        db.Online(db.Uniform(), 2, seed=-1)
    with pytest.raises(db.InputError, match="exactly 2 arms, not for 3"):
        db.Online(db.SnoozeIt(10_000, 1e-4), 3)


def test_a_plain_object_plays_too() -> None:
    online = db.Online(Stubborn(), n_arms=3)
    for _ in range(7):
        online.update(online.select(), 1.0)
    assert online.state == [3, 2, 2]
    with pytest.raises(db.InputError, match="Stubborn is a plain object"):
        online.snapshot()


def test_verbs_that_an_object_was_given_count() -> None:
    """A plain object is asked as simulate asks it, not through its class."""
    policy = Stubborn()
    policy.select = lambda state, rng: 2  # type: ignore[method-assign]
    assert db.Online(policy, n_arms=3).select() == 2


def test_numbers_too_long_to_print_are_refused_in_a_sentence(play: db.Online) -> None:
    with pytest.raises(db.InputError, match=r"arm and reward must be numbers; got arm 0 and reward about 10\^5000"):
        play.update(0, 10**5000)
    with pytest.raises(db.InputError, match=r"there is no arm about 10\^5000"):
        play.update(10**5000, 0.5)
    with pytest.raises(db.InputError, match="n_arms must be a whole number, from 1 to 1,000,000"):
        db.Online(db.UCB1(), 10**12)


def test_threads_that_share_one_take_turns() -> None:
    """Compiled kernels run beside each other: one wrote into a hull while another made it longer."""
    play, failed = db.Online(db.SnoozeItK(200_000, 1e-3), 3), []

    def steps() -> None:
        try:
            for _ in range(10_000):
                play.update(play.select(), 0.5)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=steps) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert play._player.step == 80_000
