"""Whether a log is believed: counts at which it is just so, and just not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import driftbandits as db
from driftbandits.offline.log import read_log
from driftbandits.offline.trust import Evidence, _test_statistics, evidence

ARMS, EACH = 10, 39


def log_with_lost(lost: list[int]) -> pl.DataFrame:
    """Ten arms in a random order, 39 rows each, so many rewards of each lost; too few rows to be cut into parts."""
    rng = np.random.default_rng(1)
    arm = rng.permutation(np.repeat(np.arange(ARMS), EACH))
    reward = rng.random(len(arm))
    for index, count in enumerate(lost):
        reward[rng.choice(np.flatnonzero(arm == index), count, replace=False)] = np.nan
    return pl.DataFrame({"step": range(len(arm)), "arm": arm, "reward": reward}, nan_to_null=True)


def judged(log: pl.DataFrame, **options: Any) -> Evidence:
    return evidence(read_log(log), **options)


def test_ten_arms_have_ten_chances_to_look_unlike() -> None:
    """Of 50 lost rewards an arm with 39 of 390 rows loses 5 on average, with variance 50 (1/10) (9/10) (340/389).

    13 are 4.03 deviations more. That has a chance of 5.5e-5, but one of ten arms does so once in 1,800 logs: believed.
    14 are 4.54, 5.7e-6: ten times that is less than once in 10,000 logs.
    """
    others = [5, 4, 4, 4, 4, 4, 4, 4, 4]
    assert len(judged(log_with_lost([13, *others]), logged="uniform")) == 340
    others[0] = 4
    with pytest.raises(db.InputError, match=r"^35\.9% of the rewards of arm '0' never came, 10\.3% of the others'"):
        judged(log_with_lost([14, *others]), logged="uniform")


def test_an_arm_that_loses_too_few_is_seen_too() -> None:
    """Half of all are lost, of arm 3 none: 19.5 less than its share, whose variance is 195 (1/10) (9/10) (195/389)."""
    lost = [22, 22, 22, 0, 21, 21, 22, 22, 22, 21]
    with pytest.raises(db.InputError, match=r"^0\.0% of the rewards of arm '3' never came, 55\.6% of the others'"):
        judged(log_with_lost(lost), logged="uniform")


def test_more_may_be_lost_at_one_time_than_at_another() -> None:
    """Arm 0 is chosen most of the time while half of all rewards are lost, and rarely later, when few are."""
    rng, early = np.random.default_rng(2), np.arange(8_000) < 4_000
    chance = np.where(early, 0.8, 0.2)
    arm = (rng.random(8_000) >= chance).astype(int)
    reward = np.where(rng.random(8_000) < np.where(early, 0.5, 0.05), np.nan, rng.random(8_000))
    columns = {
        "step": range(8_000),
        "arm": arm,
        "reward": reward,
        "probability": np.where(arm == 0, chance, 1 - chance),
    }
    found = judged(pl.DataFrame(columns, nan_to_null=True))
    assert len(found) == np.isfinite(reward).sum()
    assert len(found.notes) == 1


def coins(rows: int, certain: int = 0, **columns: Any) -> pl.DataFrame:
    """Two arms, each drawn with probability 1/2; at the first ``certain`` steps, one says, it had to be that one."""
    rng = np.random.default_rng(3)
    probability = np.where(np.arange(rows) < certain, 1.0, 0.5)
    basic = {"step": range(rows), "arm": rng.integers(0, 2, rows), "reward": rng.random(rows)}
    return pl.DataFrame({**basic, "probability": probability, **columns})


def test_a_tenth_of_the_steps_may_leave_no_choice() -> None:
    found = judged(coins(1_000, certain=100))
    assert len(found) == 900
    assert found.notes == ("100 of 1,000 steps left no choice (probability 1) and are left out",)
    with pytest.raises(db.InputError, match="at 20% of its steps the log's policy had no choice"):
        judged(coins(1_000, certain=200))
    with pytest.raises(db.InputError, match="had no choice"):
        judged(coins(1_000, certain=101))


def test_a_hundred_rows_are_enough() -> None:
    assert len(judged(coins(100))) == 100
    with pytest.raises(db.InputError, match="only 99 rows of the log can be used; at least 100 are needed"):
        judged(coins(99))
    with pytest.raises(db.InputError, match="only 99 rows"):
        judged(coins(110, certain=11))


def test_missing_rewards_stand_in_where_they_are_given_a_value() -> None:
    log = coins(200).with_columns(reward=pl.when(pl.col("step") % 2 == 0).then(None).otherwise("reward"))
    found = judged(log, missing=0.25)
    assert found.notes == ("100 of 200 rewards never came: each counts as 0.25",)
    assert found.rewards[::2].tolist() == [0.25] * 100
    assert found.rewards[1::2].tolist() == log["reward"].drop_nulls().to_list()


def test_what_the_rows_are_worth() -> None:
    """c is the least probability; rows with weights 2, 2, 4 of one arm are worth 64/24, two alike of another 2."""
    rows = Evidence(
        ("a", "b"), np.array([0, 0, 0, 1, 1]), np.ones(5), np.array([0.5, 0.5, 0.25, 0.5, 0.5]), np.arange(5), ()
    )
    assert rows.least == 0.25
    assert rows.effective == pytest.approx([64 / 24, 2])


def test_an_arm_that_came_when_no_reward_was_lost_hides_nothing() -> None:
    """Arm 2 is chosen in the last quarter only, where all rewards came: its count of lost rewards has no variance."""
    rng = np.random.default_rng(4)
    arm = rng.integers(0, 2, 2_000)
    arm[1_500:] = rng.integers(0, 3, 500)
    reward = rng.random(2_000)
    reward[:1_000][arm[:1_000] == 0] = np.nan
    log = pl.DataFrame({"step": range(2_000), "arm": arm, "reward": reward, "probability": 0.5}, nan_to_null=True)
    with pytest.raises(db.InputError, match=r"of the rewards of arm '0' never came, 0\.0% of the others'"):
        judged(log)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9])
def test_choices_are_compared_with_their_probabilities(share: float) -> None:
    """D has mean 0; its variance is what its squares say, but no less than what the probabilities do."""
    rng, steps, claimed = np.random.default_rng(6), 2_000, 0.1
    arms = (rng.random(steps) >= share).astype(np.int32)
    probability = np.where(arms == 0, claimed, 1 - claimed)
    found = _test_statistics(arms, rng.random(steps), probability, 2)[:, 0]
    for arm in range(2):
        excess = (arms == arm) / probability - 1.0
        own = (arms == arm) * (1.0 / probability - 1.0) / probability
        assert found[arm] == pytest.approx(excess.sum() / np.sqrt(max((excess**2).sum(), own.sum())))
