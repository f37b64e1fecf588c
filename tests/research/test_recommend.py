"""What recommend says, word by word, from standings made by hand."""

from __future__ import annotations

import polars as pl
import pytest

import driftbandits as db
from driftbandits.research.league.matches import ABRUPT, DRIFTING, SHORTEST, STATIONARY, matches, told
from driftbandits.research.league.recommend import COVERED, recommend

RATIOS = {
    "AutoTS": {"walk": 1.0, "wave": 4.0, STATIONARY: 3.0, ABRUPT: 4.5},
    "RoundRobin": {"walk": 8.0, "wave": 8.0, STATIONARY: 8.0, ABRUPT: 8.0},
    "KLUCB": {"walk": 9.0, "wave": 4.0, STATIONARY: 1.5, ABRUPT: 6.0},
    "DUCB": {"walk": 1.5, "wave": 1.5, STATIONARY: 2.0, ABRUPT: 2.0},
    "SuccessiveElimination": {STATIONARY: 1.0},
}


def stand(monkeypatch: pytest.MonkeyPatch, *policies: str) -> None:
    """The league has these policies only."""
    rows = [
        {"policy": policy, "told": told(policy), "kind": family if family in (STATIONARY, ABRUPT) else DRIFTING}
        | {"family": family, "ratio": ratio}
        for policy in policies
        for family, ratio in RATIOS[policy].items()
    ]
    monkeypatch.setattr("driftbandits.research.league.recommend.shipped_standings", lambda: pl.DataFrame(rows))


def test_who_says_nothing_gets_the_best_of_all_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Families weigh the same within their kind, and kinds the same: 2, 3 and 4.5 make 3; 6, 1.5 and 6 make 3.78.

    Who has not played a kind is no candidate.
    """
    stand(monkeypatch, *RATIOS)
    answer = (
        "Use AutoTS(): it needs to know nothing, and on the league's drifting, stationary and abrupt instances its "
        "regret is 3.00 times that of the best policy there. The best published policy that you know enough for, "
        "KLUCB, has 3.78 times, and counts on rewards in [0, 1] or not far from it."
    )
    assert str(recommend()) == answer
    assert str(recommend(horizon=1_000)) == answer


def test_the_rival_is_another_policy_than_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    stand(monkeypatch, *RATIOS)
    assert str(recommend(drift=0.0, noise="gaussian", horizon=1_000)) == (
        "Use SuccessiveElimination(horizon=1000): it needs to know T, and on the league's stationary instances its "
        "regret is 1.00 times that of the best policy there. The best published policy that you know enough for, "
        "KLUCB, has 1.50 times."
    )


@pytest.mark.parametrize(
    ("noise", "kl"), [("gaussian", "gaussian"), ("bernoulli", "bernoulli"), ("bounded", "bernoulli")]
)
def test_the_policy_is_told_of_the_noise(monkeypatch: pytest.MonkeyPatch, noise: str, kl: str) -> None:
    stand(monkeypatch, *RATIOS)
    answer = str(recommend(drift=0.0, noise=noise))
    assert answer.startswith(f"Use KLUCB(kl={kl!r}): it needs to know nothing")
    assert answer.endswith(" DUCB, has 2.00 times.")


def test_a_rival_that_takes_any_unit_counts_on_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stand(monkeypatch, "AutoTS", "RoundRobin")
    assert str(recommend()).endswith(" The best published policy that you know enough for, RoundRobin, has 8.00 times.")
    stand(monkeypatch, "AutoTS")
    assert str(recommend()).endswith(" its regret is 3.00 times that of the best policy there.")


def test_if_no_policy_fits_more_must_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stand(monkeypatch, "KLUCB", "DUCB")
    with pytest.raises(db.InputError, match="no policy of the league fits; say more of what you know"):
        recommend(drift=1e-3)
    assert str(recommend(drift=1e-3, noise="gaussian")).startswith("Use DUCB(drift=0.001): it needs to know δ")


def test_who_gets_an_index_hears_when_it_is_the_wrong_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"policy": policy, "told": told(policy), "kind": kind, "family": kind, "ratio": ratio}
        for policy, ratio in (("BreakEven", 1.0), ("AutoTS", 2.0))
        for kind in (DRIFTING, STATIONARY, ABRUPT)
    ]
    monkeypatch.setattr("driftbandits.research.league.recommend.shipped_standings", lambda: pl.DataFrame(rows))
    answer = str(recommend())
    assert answer.startswith("Use BreakEven(): ")
    assert answer.endswith(
        "Where means are stationary and rewards are delayed by 100 steps or more, AutoTS() is better."
    )


def test_the_policy_is_an_object_to_play_with(monkeypatch: pytest.MonkeyPatch) -> None:
    stand(monkeypatch, *RATIOS)
    found = db.recommend(drift=1e-3, noise="gaussian")
    assert (found.policy, found.call, found.ratio) == (db.DUCB(drift=1e-3), "DUCB(drift=0.001)", 1.5)
    assert str(found) == f"Use {found.call}: {found.why}"
    assert db.simulate(found.policy, "walk", runs=1).runs == 1
    assert db.recommend(drift=0.0, noise="bounded").policy == db.KLUCB(kl="bernoulli")


def test_what_the_instances_cover_is_what_is_said() -> None:
    counts: dict[str, list[int]] = {}
    for match in matches(SHORTEST):
        counts.setdefault(match.kind, []).append(match.instance.n_arms)
    assert {kind: (min(found), max(found)) for kind, found in counts.items() if kind in COVERED} == COVERED


def test_more_arms_than_were_played_are_an_extrapolation() -> None:
    said = str(recommend(arms=100_000))
    assert "instances have 2 to 20 arms: for 100,000 arms this is an extrapolation" in said
    assert "instances have 2 to 8 arms: for 9 arms" in str(recommend(drift=0, arms=9))
    assert "instances have 4 to 6 arms: for 2 arms" in str(recommend(abrupt=True, arms=2))
    for within in (recommend(), recommend(abrupt=True), recommend(arms=20), recommend(arms=8, drift=0)):
        assert "extrapolation" not in str(within)
    with pytest.raises(db.InputError, match=r"at most the horizon, 1,000, .*; got 100,000: leave arms out"):
        recommend(horizon=1_000, arms=100_000)
