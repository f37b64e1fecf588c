"""The league: ratios on tables made by hand, a small league from end to end, and what recommend says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from driftbandits._common.files import written_whole
from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.instances.noise import Bernoulli, Gaussian
from driftbandits.policies import POLICIES
from driftbandits.research.league.against_autots import by_kind_and_noise, judge_new
from driftbandits.research.league.answer import answer, losses
from driftbandits.research.league.delays import SETTINGS, play_delays
from driftbandits.research.league.league import League, delays, league, quantiles
from driftbandits.research.league.matches import ABRUPT, DRIFTING, JUMPS, KINDS, REAL, STATIONARY, asked, matches, told
from driftbandits.research.league.play import play, run_table
from driftbandits.research.league.quantiles import bad_runs, play_quantiles, ratio_interval, worse
from driftbandits.research.league.recommend import UNITLESS, rank, recommend, shipped_standings
from driftbandits.research.league.report.content import FAILS, HOLDS, UNDECIDED
from driftbandits.research.league.report.parts import Settings
from driftbandits.research.league.standings import OURS, best_single, mean_regrets, standings
from driftbandits.research.league.verdicts import FOR_STATIONARY, JUDGED, jackknife, judge
from driftbandits.simulation.result import Simulation
from driftbandits.simulation.simulate import simulate

SHORT = 5_000


def made_up(regrets: dict[str, dict[str, float]], runs: int = 3, spread: float = 0.0) -> pl.DataFrame:
    """Runs of a league, one instance for each ``family/number``, with these regrets; run i has i * ``spread`` more."""
    rows = []
    for instance, played in regrets.items():
        family = instance.split("/")[0]
        kind = family if family in KINDS else DRIFTING
        for policy, regret in played.items():
            labels = {"family": family, "instance": instance, "kind": kind, "arms": 2, "noise": "Gaussian"}
            rows += [
                {**labels, "policy": policy, "told": told(policy) if policy in POLICIES else "nothing", "run": run}
                | {"regret": regret * (1 + spread * run), "ns_per_step": 10.0}
                for run in range(runs)
            ]
    return pl.DataFrame(rows)


def of(table: pl.DataFrame, policy: str) -> dict[str, object]:
    return table.row(by_predicate=pl.col("policy") == policy, named=True)


def test_ratios_are_to_the_best_told_no_more_and_families_weigh_the_same() -> None:
    runs = made_up(
        {
            "walk/1": {"UCB1": 100, "DUCB": 50, "SWUCB": 10},
            "walk/2": {"UCB1": 400, "DUCB": 50, "SWUCB": 100},
            "wave/1": {"UCB1": 10, "DUCB": 90, "SWUCB": 90},
            "stationary/1": {"UCB1": 10, "SWUCB": 30},
        }
    )
    table = standings(runs)
    assert table["policy"].to_list() == ["UCB1", "DUCB", "SWUCB"]
    alone = of(table, "UCB1")
    assert (alone["drifting"], alone["worst"], alone["stationary"], alone["abrupt"]) == (1.0, 1.0, 1.0, None)
    assert of(table, "DUCB")["drifting"] == pytest.approx(math.sqrt(1 * 9))
    most = of(table, "SWUCB")
    assert most["drifting"] == pytest.approx(math.sqrt(math.sqrt(1 * 2) * 9))
    assert (most["worst_family"], most["worst"], most["stationary"]) == ("wave", pytest.approx(9), pytest.approx(3))


def test_a_regret_of_nothing_is_not_infinitely_better() -> None:
    table = standings(made_up({"walk/1": {"UCB1": 0.0, "Uniform": 5.0}}))
    assert of(table, "Uniform")["drifting"] == pytest.approx(5)


def test_the_best_single_policy_has_played_everything() -> None:
    regrets = mean_regrets(
        made_up({"walk/1": {"SnoozeIt": 1, "SWUCB": 10, "DUCB": 20}, "wave/1": {"SWUCB": 9, "DUCB": 8}})
    )
    assert best_single(regrets, {"SnoozeIt", "SWUCB", "DUCB"}, DRIFTING) == "SWUCB"


def verdicts_of_autots(
    drifting: float, elsewhere: float, still: float, spread: float = 0.0, runs: int = 3
) -> list[str]:
    others = {"SWUCB": 100.0, "UCB1": 1_000.0}
    table = made_up(
        {
            "walk/1": {**others, "AutoTS": drifting},
            "wave/1": {**others, "AutoTS": elsewhere},
            "stationary/1": {"UCB1": 10, "AutoTS": still},
        },
        runs,
    )
    ours = pl.when(pl.col("policy") == "AutoTS").then(1 + spread * pl.col("run")).otherwise(1)
    claims = judge(table.with_columns(pl.col("regret") * ours))
    return [claim.verdicts["AutoTS"].verdict for claim in claims]


def test_claims_are_judged_by_their_intervals() -> None:
    assert verdicts_of_autots(20, 100, 14) == [HOLDS, HOLDS, HOLDS]
    assert verdicts_of_autots(60, 60, 20) == [FAILS, HOLDS, FAILS]
    assert verdicts_of_autots(5, 120, 10) == [HOLDS, FAILS, HOLDS]
    assert verdicts_of_autots(40, 60, 14, spread=0.5)[0] == UNDECIDED
    assert verdicts_of_autots(20, 20, 10, runs=1) == [UNDECIDED] * 3


def test_breakeven_is_judged_against_autots_as_soon_as_it_plays() -> None:
    table: dict[str, dict[str, float]] = {
        "walk/1": {"Uniform": 900, "SWUCB": 100, "AutoTS": 50, "BreakEven": 20},
        "wave/1": {"Uniform": 900, "SWUCB": 100, "AutoTS": 50, "BreakEven": 51},
        "stationary/1": {"Uniform": 90, "UCB1": 10, "AutoTS": 12, "BreakEven": 13},
        "abrupt/1": {"Uniform": 90, "UCB1": 10, "AutoTS": 10, "BreakEven": 10.9},
    }
    verdicts = [claim.verdicts["BreakEven"].verdict for claim in judge_new(made_up(table))]
    assert verdicts == [HOLDS, HOLDS, FAILS, HOLDS]  # 0.64; 1.02; 1.08; 1.09
    table["wave/1"]["BreakEven"] = 53
    assert [claim.verdicts["BreakEven"].verdict for claim in judge_new(made_up(table))][:2] == [FAILS, FAILS]
    assert "BreakEven" in judge(made_up(table))[0].verdicts
    rows = by_kind_and_noise(made_up(table), "BreakEven", "AutoTS")
    assert [(row["kind"], row["noise"]) for row in rows[:3]] == [
        ("drifting", "all"),
        ("drifting", "Gaussian"),
        ("stationary", "all"),
    ]
    assert rows[0]["ratio"] == pytest.approx(math.sqrt(0.4 * 1.06))
    for played in table.values():
        played.pop("BreakEven")
    assert judge_new(made_up(table)) == []


def test_the_answer_is_read_off_the_runs() -> None:
    table: dict[str, dict[str, float]] = {
        "walk/1": {"Uniform": 1_000, "AutoTS": 20, "UCB1": 80, "SWUCB": 10},
        "walk/2": {"Uniform": 1_000, "AutoTS": 80, "UCB1": 320, "SWUCB": 10},
        "stationary/1": {"Uniform": 1_000, "AutoTS": 50, "UCB1": 20, "SWUCB": 10},
        "abrupt/1": {"Uniform": 1_000, "AutoTS": 50, "UCB1": 60},
        "real/1": {"Uniform": 1_000, "AutoTS": 50, "UCB1": 60, "SWUCB": 70},
    }
    runs = made_up(table)
    lost = losses(runs)
    assert lost["AutoTS"][DRIFTING] == pytest.approx(4)
    assert lost["UCB1"] == pytest.approx({DRIFTING: 16, STATIONARY: 2, ABRUPT: 6, REAL: 6})
    assert ABRUPT not in lost["SWUCB"]
    assert answer(runs) == (
        "Use AutoTS(): it must be told nothing, and of all policies that are told nothing it loses least where means "
        "drift, where means jump and on means measured in the world (better there: UCB1 where nothing moves)."
    )
    for played in table.values():
        played["UCB1"] = 1.5
    assert answer(made_up(table)).startswith("Use UCB1():")


def test_quantiles_are_those_of_the_leagues_runs(small: tuple[League, Path], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patched:  # BreakEven takes longest to compile
        patched.setattr("driftbandits.research.league.quantiles.WHO", ("AutoTS", "UCB1"))
        table = quantiles(2, out=tmp_path, horizon=SHORT, workers=1)
        again = play_quantiles(Settings(2, 0, SHORT), tmp_path)
    assert table.equals(again)
    assert pl.read_csv(tmp_path / "quantiles.csv").shape == table.shape
    runs = small[0].runs.filter(policy="AutoTS", instance="clicks")["regret"]
    assert table.filter(instance="clicks")["AutoTS p50"].item() == pytest.approx(runs.mean())
    assert table["low"].is_nan().all()  # two runs tell nothing
    assert not worse(table)["clear"].any()


def test_bad_runs_are_worse_only_where_the_interval_says_so() -> None:
    columns = {"ratio": [0.8, 1.4, 1.1, 1.5, math.nan], "low": [0.7, 1.2, 0.9, math.nan, math.nan]}
    table = pl.DataFrame(
        {"instance": ["a", "b", "c", "d", "e"], **columns, "high": [1.0, 1.6, 1.2, math.nan, math.nan]}
    )
    assert worse(table).select("instance", "clear").rows() == [("b", True), ("c", False), ("d", False)]
    assert bad_runs(table, 200) == [
        "BreakEven's 95th percentile is 1.40 of AutoTS's on b, 1.20 to 1.60",
        "BreakEven's 95th percentile is 1.10 of AutoTS's on c, 0.90 to 1.20, which 200 runs can't tell from 1",
        "BreakEven's 95th percentile is 1.50 of AutoTS's on d, which 200 runs can't tell from 1",
    ]
    assert worse(pl.DataFrame({"instance": ["a"], "AutoTS p95": [2.0]})).is_empty()


def test_the_interval_of_bad_runs_holds_their_ratio_as_often_as_it_says() -> None:
    """Of 100 intervals of a ratio that is 1, 2.5 should miss it on each side: 14 would be by chance once in 10^6."""
    rng, above, below, clear = np.random.default_rng(4), 0, 0, 0
    for _ in range(100):
        shared = rng.exponential(size=200)  # the noise that both policies meet
        first, second = shared + rng.exponential(size=200), shared + rng.exponential(size=200)
        _, low, high = ratio_interval(first, second)
        above, below, clear = above + (low > 1), below + (high < 1), clear + (1.5 * low > 1)
    assert above < 14
    assert below < 14
    assert clear > 80
    ratio, low, high = ratio_interval(first, np.zeros(200))
    assert ratio == np.inf
    assert np.isnan(low)
    assert np.isnan(high)


def test_late_rewards_in_the_league(small: tuple[League, Path]) -> None:
    table = delays(2, out=small[1], horizon=SHORT)  # from the files of the whole league
    assert table.columns == ["policy", *(setting.words for setting in SETTINGS)]
    assert of(table, "AutoTS")["at once"] == pytest.approx(1)
    runs = play_delays(Settings(2, 0, SHORT), small[1])
    for instance in ("toggling", "clicks"):
        at_once = runs.filter(instance=instance, policy="AutoTS", setting="at once")["regret"]
        league_runs = small[0].runs.filter(instance=instance, policy="AutoTS")["regret"]
        assert at_once.to_list() == league_runs.to_list()


def test_the_jackknife_of_a_mean_is_students_interval() -> None:
    table = pl.DataFrame({"run": [0, 1, 2, 3], "x": [1.0, 1.01, 0.99, 1.02]})
    ((ratio, low, high),) = jackknife(table, lambda runs: {"x": float(runs["x"].mean())}).values()  # type: ignore[arg-type]
    mean, reach = 1.005, 3.182 * float(np.std(table["x"].to_numpy(), ddof=1)) / 2
    assert ratio == pytest.approx(mean)
    assert (low, high) == pytest.approx((mean - reach, mean + reach), abs=5e-4)


def test_instances_are_fixed_and_policies_are_told_what_they_ask_for() -> None:
    first, second = list(matches(SHORT)), list(matches(SHORT))
    assert len({match.name for match in first}) == len(first)
    assert {match.kind for match in first} == set(KINDS)
    assert all((one.instance.means == other.instance.means).all() for one, other in zip(first, second, strict=True))
    for match in first:
        entrants: dict[str, Any] = dict(match.entrants())
        assert "Oracle" not in entrants
        assert {"AutoTS", "UCB1", "GLRUCB"} <= set(entrants)
        assert ("SnoozeIt" in entrants) == (match.instance.n_arms == 2)
        assert entrants["KLUCB"].kl == ("gaussian" if isinstance(match.noise, Gaussian) else "bernoulli")
        if match.kind == DRIFTING:
            assert entrants["SWUCB"].drift == match.instance.drift_limit
        if match.kind == ABRUPT:
            assert (entrants["MUCB"].changes, entrants["MUCB"].drift) == (JUMPS, None)
            assert 0 < entrants["SWUCB"].drift < match.instance.drift_limit
        assert ("Rexp3" in entrants) == (match.kind != STATIONARY)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[League, Path]]:
    """A few policies on coins, two where arms come and go or rewards are late or recorded: compiling takes long."""
    out, few = tmp_path_factory.mktemp("league"), ("AutoTS", "UCB1")

    def simulated(policies: dict[str, Any], instance: Instance, noise: Any, **options: Any) -> Simulation:
        chosen = set(POLICIES)
        if instance.available is not None:
            chosen = set(few)
        elif isinstance(noise, Bernoulli):
            chosen = {*JUDGED, *FOR_STATIONARY, "CUSUMUCB"}  # one of them detects changes
        return simulate({name: it for name, it in policies.items() if name in chosen}, instance, noise, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("driftbandits.research.league.matches.DRAWS", 1)
        patched.setattr("driftbandits.research.league.play.simulate", simulated)
        patched.setattr("driftbandits.research.league.delays.WHO", few)
        patched.setattr("driftbandits.research.league.as_recorded.LEFT_OUT", tuple(set(POLICIES) - set(few)))
        yield league(runs=2, out=out, horizon=SHORT, workers=1), out


def test_a_league_is_the_same_for_any_number_of_workers(small: tuple[League, Path], tmp_path: Path) -> None:
    again = run_table(play(Settings(2, 0, SHORT), tmp_path, workers=3), SHORT)
    assert again.drop("ns_per_step").equals(small[0].runs.drop("ns_per_step"))


def test_a_league_goes_on_from_its_files(small: tuple[League, Path]) -> None:
    killed = written_whole(small[1] / "runs" / "one.parquet")  # its block never ends
    left = killed.__enter__()
    again = run_table(play(Settings(2, 0, SHORT), small[1]), SHORT)
    assert not left.exists()
    assert again.equals(small[0].runs)  # the costs too, so nothing was played again


def test_the_page_holds_standings_verdicts_and_detections(small: tuple[League, Path]) -> None:
    result, out = small
    page = (out / "league.html").read_text(encoding="utf-8")
    assert "://" not in page
    assert "SnoozeIt AutoTS" not in page
    assert f"driftbandits league --horizon {SHORT} --runs 2 --seed 0" in page
    for words in (
        "what should I use?",
        "Half the regret",
        "Late rewards and bundles",
        "As it was recorded",
        result.content.opening[0].text[0].partition("(")[0],
        "false alarms per 100,000 steps",
        *result.standings["policy"],
    ):
        assert words in page
    assert set(result.standings["policy"]) == set(POLICIES) - {"Oracle"}
    kept = pl.read_parquet(out / "league.parquet")
    assert kept.equals(result.runs)
    assert {"figures/league.svg", "figures/detections.pdf"} <= {
        f"figures/{path.name}" for path in (out / "figures").iterdir()
    }


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"horizon": SHORT - 1}, "need horizon >= 5,000; got 4,999"),
        ({"runs": 0}, "runs must be a whole number"),
        ({"workers": 0}, "workers must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_input_is_said_before_anything_is_played(wrong: dict[str, int], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        league(out=tmp_path, **wrong)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_the_shipped_standings_are_of_this_league() -> None:
    table = shipped_standings()
    assert set(table["policy"]) <= set(POLICIES) - {"Oracle"}
    assert set(zip(table["policy"], table["told"], strict=True)) == {(name, told(name)) for name in table["policy"]}
    assert set(table["family"]) == {match.family for match in matches(SHORT)}
    assert (table["ratio"] >= 1).all()
    assert set(POLICIES) >= FOR_STATIONARY | UNITLESS | set(JUDGED) - {"BreakEven"}
    assert set(JUDGED) <= set(OURS)


CASES = [
    ({}, [DRIFTING, STATIONARY, ABRUPT], set(), False),
    ({"horizon": 10_000}, [DRIFTING, STATIONARY, ABRUPT], {"T"}, False),
    ({"drift": 1e-4, "noise": "gaussian"}, [DRIFTING], {"δ"}, True),
    ({"horizon": 10_000, "drift": 1e-4, "noise": "bernoulli"}, [DRIFTING], {"T", "δ"}, True),
    ({"drift": 0.0, "noise": "bernoulli", "arms": 10}, [STATIONARY], {"δ"}, True),
    ({"abrupt": True, "horizon": 10_000}, [ABRUPT], {"T"}, False),
    ({"abrupt": True, "drift": 0.0}, [ABRUPT], {"δ"}, False),
    ({"abrupt": True, "drift": 1e-4, "noise": "bernoulli", "arms": 3}, [ABRUPT], {"δ"}, True),
]


@pytest.mark.parametrize(("said", "kinds", "known", "noise"), CASES)
def test_recommend_names_the_best_of_the_shipped_standings(
    said: dict[str, object], kinds: list[str], known: set[str], noise: bool
) -> None:
    answer = str(recommend(**said))  # type: ignore[arg-type]
    best = rank(kinds, known, int(said.get("arms", 2)), noise).row(0, named=True)  # type: ignore[call-overload]
    assert answer.startswith(f"Use {best['policy']}(")
    words = "drifting, stationary and abrupt" if len(kinds) > 1 else kinds[0]
    assert f"on the league's {words} instances its regret is {best['ratio']:.2f} times that of the best" in answer
    policy = eval(answer.split(" ", 1)[1].split(": ")[0], dict(POLICIES))  # what it says can be typed in
    assert isinstance(policy, POLICIES[best["policy"]])
    told_of = {
        key: value for key, value in said.items() if key in ("horizon", "drift") and key in asked(best["policy"])
    }
    assert {key: getattr(policy, key) for key in told_of} == told_of


def test_recommend_leaves_out_what_does_not_fit() -> None:
    everything = {"T", "δ"}
    two, many = (set(rank([DRIFTING], everything, arms, noise=True)["policy"]) for arms in (2, 3))
    assert {"SnoozeIt", "SnoozeItTight"} <= two - many
    assert set(rank([DRIFTING], everything, 2, noise=False)["policy"]) <= UNITLESS
    assert "MUCB" not in set(rank([ABRUPT], everything, 2, noise=True)["policy"])
    assert "KalmanTS" not in set(rank([DRIFTING], {"T"}, 2, noise=True)["policy"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"horizon": 0}, "horizon"),
        ({"drift": 2.0}, "drift must lie"),
        ({"noise": "loud"}, "unknown noise 'loud'; choose one of gaussian"),
        ({"arms": 1}, "arms must be"),
    ],
)
def test_recommend_says_what_is_wrong(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        recommend(**wrong)  # type: ignore[arg-type]
