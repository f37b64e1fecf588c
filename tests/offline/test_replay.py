"""Replay against plain twins; logs that can't be read, and logs that can't answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftbandits as db
from driftbandits.offline.estimators import Replayer, fixed_choices
from driftbandits.offline.log import read_log
from driftbandits.offline.trust import Evidence, evidence
from driftbandits.simulation.trajectory import trajectory
from naive_offline import greedy_log, naive_fixed, naive_replay

POLICIES = [db.AutoTS(), db.UCB1(), db.RoundRobin(), db.Exp3S(gamma=0.1, alpha=0.01), db.SWUCBSharp(500, 1e-3)]

BLOCKS = st.sampled_from([1, 64])


def some_rows(seed: int, n_rows: int, n_arms: int, uniform: bool = False) -> Evidence:
    rng = np.random.default_rng(seed)
    probability = np.full(n_rows, 1 / n_arms) if uniform else rng.uniform(0.2, 0.9, n_rows)
    arms = rng.integers(0, n_arms, n_rows).astype(np.int32)
    return Evidence(
        tuple("abcde"[:n_arms]), arms, rng.normal(0.5, 0.5, n_rows) + 0.2 * arms, probability, np.arange(n_rows), ()
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 999), st.integers(100, 700), st.integers(2, 5), st.sampled_from(POLICIES), st.sampled_from([1, 64])
)
def test_a_replay_is_its_plain_twin(seed: int, n_rows: int, n_arms: int, policy: Any, block: int) -> None:
    rows = some_rows(seed, n_rows, n_arms, uniform=seed % 3 == 0)
    parts = 1 + seed % 4
    sums, counts = Replayer(policy, rows, seed, parts).play(2, 1, block, lambda steps: True)
    received = naive_replay(policy, rows, seed, 2, 1, block)
    for part in range(parts):
        mine = [reward for step, reward in received if step * parts // n_rows == part]
        assert counts[part] == len(mine)
        assert sums[part] == sum(mine)


class Plain:
    """A policy that knows nothing of numba, and keeps what it learns in itself."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def init(self, n_arms: int) -> None:
        self.state = self.policy.reserve(self.policy.init(n_arms), 5_000)

    def select(self, state: None, rng: Any) -> int:
        return int(self.policy.select(self.state, rng))

    def update(self, state: None, arm: int, reward: float) -> None:
        self.policy.update(self.state, arm, reward)


def test_compiled_and_interpreted_agree_whatever_the_chunks_and_threads() -> None:
    log = greedy_log(db.instances.sinusoid(3_000, drift=1e-3), 0.5, 0.3, seed=1)
    compiled = db.replay(log, {"one": db.SWUCBSharp(750, 4e-3)}, replicates=3, workers=1)
    plain = db.replay(log, {"one": Plain(db.SWUCBSharp(750, 4e-3))}, replicates=3, workers=3)
    for name in compiled.sums:
        assert (compiled.sums[name] == plain.sums[name]).all()
        assert (compiled.counts[name] == plain.counts[name]).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 999), st.integers(50, 400), st.integers(2, 5), BLOCKS)
def test_inverse_propensity_is_its_plain_twin(seed: int, n_rows: int, n_arms: int, block: int) -> None:
    rows, parts = some_rows(seed, n_rows, n_arms), 1 + seed % 4
    found, earned = fixed_choices(rows, block, seed, 3, parts), naive_fixed(rows, seed, 3, block)
    part = np.arange(n_rows) * parts // n_rows
    np.testing.assert_allclose(found, [np.bincount(part, line) for line in earned], rtol=1e-9, atol=1e-9)


def uniform_log(rows: int = 4_000, seed: int = 0, **columns: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    arm = rng.integers(0, 3, rows)
    basic = {"step": np.arange(rows), "arm": arm, "reward": rng.random(rows) + 0.1 * arm, "probability": 1 / 3}
    return pl.DataFrame({**basic, **columns})


def test_every_format_says_the_same(tmp_path: Path) -> None:
    log = uniform_log(400, reward=[None, 0.0, *[0.25] * 398]).sample(fraction=1, shuffle=True, seed=1)
    log.write_csv(tmp_path / "log.csv")
    log.write_parquet(tmp_path / "log.parquet")
    log.write_ndjson(tmp_path / "log.jsonl")
    wanted = read_log(log)
    assert np.isnan(wanted.rewards[0])
    assert wanted.rewards[1:3].tolist() == [0, 0.25]
    assert wanted.arms.tolist() == log.sort("step")["arm"].to_list()
    for ending in ("csv", "parquet", "jsonl"):
        found = read_log(tmp_path / f"log.{ending}")
        assert found.names == wanted.names == ("0", "1", "2")
        np.testing.assert_array_equal(found.arms, wanted.arms)
        np.testing.assert_array_equal(found.rewards, wanted.rewards)
        np.testing.assert_array_equal(found.probability, wanted.probability)


def test_arms_are_sorted_as_what_they_are() -> None:
    def names(arms: list[Any]) -> tuple[str, ...]:
        return read_log(pl.DataFrame({"step": range(len(arms)), "arm": arms, "reward": 0.5})).names

    assert names(["10", "9", "9"]) == names([10, 9, 9]) == ("9", "10")
    assert names(["b", "10", "a"]) == ("10", "a", "b")
    assert names(["01", "1", "2"]) == ("01", "1", "2")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("step,arm,reward\n", "has no rows"),
        ("step;arm;reward\n1;a;0,5\n2;b;0,1\n", "its columns are separated by ';', and must be by ','"),
        ("step\tarm\treward\n1\ta\t0.5\n", "its columns are separated by a tab, and must be by ','"),
        ("step,arm,reward\n1,a,0.5\n2,b,1,7\n", "line 3 has 4 cells, and the first line has 3"),
        ("step,arm\n1,a\n", "no column 'reward'.*; its columns: step, arm"),
        ("step,arm,reward\n1,a,0.5\n2,b,nan\n", "row 2, column 'reward' must be a finite number.*got 'nan'"),
        ("step,arm,reward\n1,a,\n2,b,-inf\n", "row 2, column 'reward'.*got '-inf'"),
        ("step,arm,reward\n1,a,0.5\n2,b,much\n", "row 2, column 'reward' must be a number; got 'much'"),
        ("step,arm,reward\n1,a,0.5\n1,b,1\n", "row 1, column 'step' must be each step once"),
        (
            "step,arm,reward\n1,a,0.5\n1.5,b,1\n",
            "row 2, column 'step' must be a whole number or a time stamp; got '1.5'",
        ),
        ("step,arm,reward\n1,a,0.5\n2,,1\n", "row 2, column 'arm' must be a name.*got nothing"),
        ("step,arm,reward\n1,a,0.5\n2,a,1\n", "names one arm, 'a'"),
        ("step,arm,reward,probability\n1,a,1,0.5\n2,b,1,0\n", r"row 2, column 'probability'.*\(0, 1\].*got '0'"),
        ("step,arm,reward,probability\n1,a,1,0.5\n2,b,1,1.1\n", "row 2, column 'probability'.*got '1.1'"),
        (
            "step,arm,reward,probability\n1,a,1,\n2,b,1,0.5\n",
            "only 1 of 2 rows of the log have a probability; at least",
        ),
        ("step,arm,reward,probability\n1,a,1,nan\n2,b,1,0.5\n", "row 1, column 'probability'.*got 'nan'"),
    ],
)
def test_a_log_that_cannot_be_read(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(db.InputError, match=words):
        db.replay(path)


def test_files_that_are_none(tmp_path: Path) -> None:
    for name, words in [("log.xls", "must end in .csv, .parquet, .jsonl"), ("gone.csv", "no such file")]:
        with pytest.raises(db.InputError, match=words):
            db.replay(tmp_path / name)
    for ending in ("parquet", "jsonl"):
        (tmp_path / f"log.{ending}").write_text("something else")
        with pytest.raises(db.InputError, match="damaged or not a"):
            db.replay(tmp_path / f"log.{ending}")


def log_of(policy: Any, probability: float | None = None) -> pl.DataFrame:
    arms, rewards = trajectory(policy, db.instances.sinusoid(20_000, drift=5e-4), seed=1)
    return pl.DataFrame({"step": range(20_000), "arm": arms, "reward": rewards, "probability": probability})


def win_stay(rows: int = 4_000) -> pl.DataFrame:
    """Stays after a reward above 1/2, moves after others: each arm has half of the pulls, as long as all are alike."""
    rng = np.random.default_rng(5)
    reward = rng.random(rows)
    arm = np.cumsum(np.concatenate([[0], reward[:-1] < 0.5])) % 2
    return pl.DataFrame({"step": range(rows), "arm": arm, "reward": reward})


def sticky(rows: int = 4_000) -> pl.DataFrame:
    """Each arm follows itself with probability 0.6."""
    rng = np.random.default_rng(6)
    arm = np.cumsum(rng.random(rows) < 0.4) % 2
    return pl.DataFrame({"step": range(rows), "arm": arm, "reward": rng.random(rows)})


@pytest.mark.parametrize(
    ("log", "options", "words"),
    [
        (lambda: log_of(db.Uniform()), {}, "has no probabilities.*explore=0.1.*logged='uniform'"),
        (
            lambda: uniform_log(probability=pl.Series([1 / 3] * 50 + [None] * 3_950)),
            {},
            "only 50 of 4,000 rows of the log have a probability; at least 100 are needed.*explore=0.1",
        ),
        (
            lambda: uniform_log().with_columns(probability=pl.when(pl.col("arm") > 0).then("probability")),
            {},
            "probabilities can't be right",
        ),
        (lambda: log_of(db.AutoTS()), {"logged": "uniform"}, "not drawn uniformly: arm '[01]' came in waves"),
        (lambda: log_of(db.RoundRobin()), {"logged": "uniform"}, "not drawn uniformly: arm '[01]' (came|followed)"),
        (sticky, {"logged": "uniform"}, "not drawn uniformly: arm '[01]' followed itself"),
        (win_stay, {"logged": "uniform"}, "not drawn uniformly: arm '[01]' was repeated"),
        (lambda: log_of(db.SnoozeIt(20_000, 5e-4), 1.0), {}, "at 100% of its steps the log's policy had no choice"),
        (lambda: log_of(db.AutoTS(), 0.5), {}, "probabilities can't be right: arm '[01]' came in waves"),
        (
            lambda: uniform_log(probability=0.5),
            {},
            "probabilities can't be right: arm '[012]' was chosen more or less often",
        ),
        (uniform_log, {"logged": "uniform"}, "has probabilities of its own"),
        (uniform_log, {"logged": "random"}, "must be 'uniform'"),
        (lambda: uniform_log(90), {}, "only 90 rows of the log can be used; at least 100"),
        (lambda: uniform_log(270), {}, "about 90 of 270 rows, fewer than 100"),
        (uniform_log, {"missing": float("nan")}, "missing must be a finite number"),
        (uniform_log, {"replicates": 1}, "replicates must be"),
        (uniform_log, {"policies": 3}, "must be an object with the methods init"),
        (uniform_log, {"policies": ["Oracle"]}, "Oracle can't be replayed"),
        (uniform_log, {"policies": ["AutoTs"]}, "did you mean AutoTS"),
        (uniform_log, {"policies": {"x": db.AutoTS}}, "AutoTS is a class"),
        (uniform_log, {"policies": {"only 1": db.AutoTS()}}, "another name"),
        (uniform_log, {"policies": ["SnoozeIt"]}, "exactly 2 arms"),
        (uniform_log, {"policies": ["KalmanTS"], "drift": 2.0}, "drift must lie in"),
    ],
)
def test_a_log_that_cannot_answer(log: Callable[[], pl.DataFrame], options: Any, words: str) -> None:
    played = log()  # here, not above: what is compiled there is compiled by every process of the tests
    with pytest.raises(db.InputError, match=words):
        db.replay(played, **options)


def test_logs_that_tell_the_truth_are_believed() -> None:
    """A log is refused once in 10,000 times; four refusals in 300 logs have a chance of 3e-8."""
    refused = 0
    for seed in range(300):
        log = read_log(uniform_log(1_000, seed).drop("probability"))
        try:
            db.replay(log, [], logged="uniform", replicates=2)
        except db.InputError:
            refused += 1
    assert refused < 4


def test_rewards_that_never_came() -> None:
    rng = np.random.default_rng(3)
    log = uniform_log()
    lost_alike = log.with_columns(reward=pl.when(pl.Series(rng.random(4_000) < 0.2)).then(None).otherwise("reward"))
    result = db.replay(lost_alike, [], replicates=2)
    assert len(result.rows) == lost_alike["reward"].count()
    assert "rewards never came: those rows are left out" in result.notes()[0]
    more_of_one = pl.Series(rng.random(4_000) < np.where(log["arm"] == 1, 0.3, 0.15))
    lost_unlike = log.with_columns(reward=pl.when(more_of_one).then(None).otherwise("reward"))
    with pytest.raises(db.InputError, match=r"of the rewards of arm '1' never came.*missing=0"):
        db.replay(lost_unlike, [])
    result = db.replay(lost_unlike, [], missing=0.25, replicates=2)
    wanted = lost_unlike["reward"].fill_null(0.25).mean()
    assert result.table().filter(policy="the log")["reward"].item() == pytest.approx(wanted)


def test_steps_without_a_choice_are_left_out() -> None:
    log = uniform_log()
    certain = log.with_columns(probability=pl.when(pl.col("step") < 300).then(1.0).otherwise("probability"))
    result = db.replay(certain, [], replicates=2)
    assert len(result.rows) == 3_700
    assert "300 of 4,000 steps left no choice" in result.notes()[0]


def test_rows_without_a_probability_are_left_out_and_the_result_says_so() -> None:
    log = uniform_log()
    logged = (pl.col("step") >= 1_000) & ~pl.col("step").is_between(2_000, 2_499)
    some = log.with_columns(probability=pl.when(logged).then("probability"))
    result = db.replay(some, ["UCB1"], replicates=2)
    only = db.replay(log.filter(logged), ["UCB1"], replicates=2)
    assert result.table().equals(only.table())
    assert result.notes()[0] == (
        "1,500 of 4,000 rows have no probability and are left out: the first 1,000 and 500 between others; across such "
        "a gap means drift as far as in all of its steps."
    )
    assert repr(result).startswith("Replay of 2,500 of 4,000 rows: 3 arms, ")
    assert "1,500 of 4,000 rows have no probability" in result._repr_html_()
    left: Any = result.plot().axes[0]
    assert left.get_xlim() == (0, 4_000)  # rows of the log, not of what is left of it
    assert min(line.get_xdata()[0] for line in left.lines) >= 1_000
    early = log.with_columns(probability=pl.when(pl.col("step") < 3_000).then("probability"))
    assert "left out: the last 1,000." in db.replay(early, [], replicates=2).notes()[0]


def test_an_arm_of_which_little_is_known() -> None:
    """Its row is empty, and so is Uniform's, which would need it; what else can be told is."""
    rng = np.random.default_rng(2)
    arm = rng.choice(3, 3_000, p=[0.6, 0.38, 0.02])
    chance = np.array([0.6, 0.38, 0.02])[arm]
    log = pl.DataFrame({"step": range(3_000), "arm": arm, "reward": rng.random(3_000), "probability": chance})
    result = db.replay(log, [], replicates=2)
    assert result.table().filter(pl.col("reward").is_null())["policy"].to_list() == ["only 2", "Uniform"]
    assert "tell about: only 2, Uniform." in result.notes()[-1]
    assert result.differences("only 2")["difference"].null_count() == 4
    with pytest.raises(db.InputError, match=r"about 60 of 3,000 rows.*least probability in the log is 0.02"):
        db.replay(log, ["UCB1"])


def test_what_policies_are_told() -> None:
    """A replay has c N steps, and in each of them means drift 1/c times as far."""
    log = greedy_log(db.instances.sinusoid(4_000, drift=1e-3), 0.4, 0.3, seed=4)
    result = db.replay(log, ["SWUCBSharp", "Uniform"], drift=1e-3, replicates=2)
    assert result.policies == {"SWUCBSharp": db.SWUCBSharp(800, 5e-3)}
    assert (result.horizon, result.turns) == (800, 2)
    assert result.speed == pytest.approx(5)
    told = db.replay(log, ["SWUCBSharp"], replicates=2).policies["SWUCBSharp"]
    assert told.drift == pytest.approx(5 * db.estimate_drift(log["reward"], log["arm"]).high)


def test_the_drift_of_a_log_is_that_of_a_step_whether_its_reward_came_or_not() -> None:
    """Both arms go up and down at the full drift; of every four pairs of steps one only has its rewards."""
    rng, steps, drift = np.random.default_rng(5), np.arange(160_000), 2e-4
    arm = steps % 2
    reward = np.abs((drift * steps + arm) % 2 - 1) + 0.2 * rng.standard_normal(160_000)
    log = pl.DataFrame({"step": steps, "arm": arm, "reward": np.where(steps // 2 % 4 == 0, reward, np.nan)})
    found = read_log(log.fill_nan(None)).drift
    assert drift / 2 < found.drift < 2 * drift
    assert found.low < 2**0.25 * 1.05 * drift
    assert drift < found.high < 3 * drift
    assert found.low <= found.drift <= found.high
    assert 0.15 < found.sigma < 0.25


def test_differences_and_figure() -> None:
    log = greedy_log(db.instances.sinusoid(4_000, drift=1e-3), 0.4, 0.3, seed=4)
    result = db.replay(log, ["AutoTS"], replicates=5)
    table, against = result.table(), result.differences("the log")
    row = table.row(by_predicate=pl.col("policy") == "AutoTS", named=True)
    assert row["estimator"] == "replay"
    assert row["against_log"] == against.filter(policy="AutoTS")["difference"].item()
    assert row["against_log"] == pytest.approx(row["reward"] - log["reward"].mean())
    with pytest.raises(db.InputError, match="no policy is called 'nobody'; there are AutoTS, only 0"):
        result.differences("nobody")
    left, right = result.plot().axes
    assert [line.get_label() for line in left.lines] == ["AutoTS", "the log", "only 0", "only 1"]
    assert [text.get_text() for text in right.get_yticklabels()] == table["policy"].to_list()


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_what_was_given_again_is_no_choice(tmp_path: Path, ending: str) -> None:
    """Visitors come four times each and keep their arm; a replay of all that, for choices, would not be believed."""
    store, rng = db.Store("sqlite://"), np.random.Generator(np.random.SFC64(5))
    with store.open("x", arms=["a", "b"], explore=0.5, sticky=3600, policy=db.Uniform()) as session:
        session.tell_many(dict.fromkeys(session.ask_many(2), 0.5))
        visitors = [f"user-{visitor}" for visitor in range(500) for _ in range(4)]
        asked = session.ask_many(2_000, visitors, [{"n": 1}] * 2_000)
        session.tell_many({each.id: float(rng.random() < 0.3 + 0.4 * (each.arm == "b")) for each in asked})
    file = tmp_path / f"log.{ending}"
    store.history.export("x", file)
    store.close()
    log = read_log(file)
    assert (len(log), log.again) == (502, 1_500)
    assert "1,500 Decisions gave a unit the arm that it had" in evidence(log).notes[0]
    read: Any = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending]
    frame = read(file)
    with pytest.raises(db.InputError, match="the probabilities can't be right"):
        evidence(read_log(frame.drop("again")))
    found = frame.with_columns(again=pl.col("step"))  # someone else's word
    assert len(read_log(found)) == 2_002


def test_intervals_of_rewards_of_0_and_1_stay_within_0_and_1() -> None:
    """Those of policies and of arms, over the log and along it: they reached beyond both ends."""
    rng = np.random.default_rng(3)
    arms, means = rng.integers(0, 3, 900), np.array([0.985, 0.01, 1.0])
    log = pl.DataFrame({"step": np.arange(900), "arm": arms, "reward": (rng.random(900) < means[arms]).astype(float)})
    result = db.replay(log.with_columns(probability=1 / 3), [db.AutoTS()], replicates=60, seed=0, workers=1)
    for row in result.table().iter_rows(named=True):
        assert 0.0 <= row["low"] <= row["reward"] <= row["high"] <= 1.0, row
        assert row["low"] < row["high"], "also where all rewards are alike"
    figure = result.plot()
    for band in figure.axes[0].collections:
        ends = np.asarray(band.get_paths()[0].vertices)[:, 1]
        assert 0.0 <= ends.min() < ends.max() <= 1.0
