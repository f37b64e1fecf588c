"""The same comparison in four libraries, as the table of docs/interop.md: ``python benchmarks/interop.py``.

Policies of river, MABWiser and SMPyBandits play in ``simulate`` beside ours, on the same noise. It needs the three
packages, which ``make test`` installs. Prints the table's rows.
"""

from __future__ import annotations

import warnings

import scipy.special
from mabwiser.mab import MAB, LearningPolicy
from river import bandit

import driftbandits as db
from driftbandits.interop import from_mabwiser, from_river, from_smpybandits

T, DRIFT, RUNS = 1_000, 4e-3, 5

with warnings.catch_warnings():  # SMPyBandits 0.9.7 wants a function of scipy by its old name, and warns of much
    warnings.simplefilter("ignore")
    if not hasattr(scipy.special, "btdtri"):
        scipy.special.btdtri = scipy.special.betaincinv
    from SMPyBandits import Policies as Theirs

POLICIES = {
    "`UCB1`": db.UCB1(),
    "MABWiser `LearningPolicy.UCB1(1)`": from_mabwiser(
        lambda n_arms, seed: MAB(list(range(n_arms)), LearningPolicy.UCB1(1), seed=seed)
    ),
    "river `UCB(delta=1)`": from_river(lambda n_arms, seed: bandit.UCB(delta=1, seed=seed)),
    "SMPyBandits `UCB`": from_smpybandits(lambda n_arms, seed: Theirs.UCB(n_arms)),
    "SMPyBandits `SWUCB(tau=200)`": from_smpybandits(lambda n_arms, seed: Theirs.SWUCB(n_arms, tau=200)),
    "`SWUCBSharp(1_000, 4e-3)`": db.SWUCBSharp(T, DRIFT),
}


def main() -> None:
    """Play all, and print a row for each policy."""
    result = db.simulate(POLICIES, db.instances.sinusoid(T, drift=DRIFT), db.Bernoulli(), runs=RUNS, seed=0)
    for row in result.summary().iter_rows(named=True):
        print(f"| {row['policy']} | {row['regret']:.0f} ({row['low']:.0f} to {row['high']:.0f}) |")


if __name__ == "__main__":
    main()
