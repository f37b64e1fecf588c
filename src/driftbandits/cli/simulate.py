"""The command ``simulate``; as in ``cli``, it imports what it needs when it runs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from driftbandits.cli.options import Whole, check_outputs, check_parameters, read_instance, read_settings
from driftbandits.errors import FeasibilityWarning, InputError

if TYPE_CHECKING:
    from driftbandits.instances import Instance

SNOOZING = ("SnoozeIt", "SnoozeItTight", "SnoozeItK")
"""The first of these that snoozes on the instance, played once without noise, stands for all."""
RIVALS = ("SWUCBSharp", "Rexp3", "Exp3S")
STILL = ("UCB1", "KLUCB", "ThompsonSampling")
"""Where nothing drifts, the rivals' tunings are undefined."""


def simulate(
    instance: str = "toggling",
    policy: Annotated[list[str] | None, Parameter(negative="")] = None,
    *,
    set: Annotated[list[str] | None, Parameter(negative="")] = None,  # noqa: A002 - the option's name
    drift: float | None = None,
    reward_range: tuple[float, float] | None = None,
    noise: Literal["gaussian", "bernoulli", "bounded"] = "gaussian",
    runs: Whole = 100,
    seed: Whole = 0,
    workers: Whole | None = None,
    plot: Path | None = None,
    keep: Path | None = None,
) -> None:
    """Simulate policies on an instance and print their regret.

    Regret is what a policy loses against the best arm of every step: the less, the better. A first look:

        driftbandits simulate

    Your own choice, drawn:

        driftbandits simulate walk --policy SnoozeIt --policy SWUCBSharp --runs 20 --plot regret.png

    Your own means, and a policy with another parameter:

        driftbandits simulate means.csv --policy SnoozeIt --set SnoozeIt.confidence=0.1

    Parameters
    ----------
    instance
        A family of instances (abrupt, common_periods, equal_drift, fading, lower_bound, separated, sinusoid,
        stationary, toggling, walk, wave; from real data: ad_prices, clicks, tweets, weather), or a file of means (.csv,
        .parquet or .npz: one row a step, one column an arm).
    policy
        The name of a policy; repeat it for more. Default: the first of SnoozeIt, SnoozeItTight and SnoozeItK that
        snoozes an arm of the instance when it is played once without noise, if one does, with SWUCBSharp, Rexp3 and
        Exp3S; or UCB1, KLUCB and ThompsonSampling where nothing drifts. An unknown name lists all.
    set
        A parameter of a policy or of the instance's family, as in SnoozeIt.confidence=0.1 or walk.horizon=10000;
        repeat it for more.
    drift
        The drift limit that policies are told; unless given, the one the instance declares, or else the one it has.
    reward_range
        The least and the largest reward of a file's instance, as in --reward-range 0 20, where means are not in [0, 1].
        Policies defined for rewards in [0, 1] learn them rescaled, and their parameters are on that scale.
    noise
        How rewards scatter around their mean; gaussian with half the width of the reward range as standard deviation.
    runs
        How many runs of each policy.
    seed
        The same seed gives the same result, bit for bit.
    workers
        Threads; all cores unless given. The result does not depend on it.
    plot
        Draw the regret to this file (.png, .svg or .pdf).
    keep
        Keep every run in this Parquet file; stopped with Ctrl-C, the same command goes on from there.
    """
    from driftbandits._common.checks import check_drift
    from driftbandits._common.plotting import figure_ending, save_figure
    from driftbandits.instances import noise as noises
    from driftbandits.research.league.matches import shape
    from driftbandits.simulation.requirements import usual_noise
    from driftbandits.simulation.simulate import simulate

    if plot is not None:
        figure_ending(plot)
    names = policy or [*SNOOZING, *RIVALS, *STILL]
    if instance in names:
        raise InputError(f"{instance} is the instance: name policies after it, as in simulate {instance} UCB1")
    settings = read_settings(set or (), [instance, *names])
    built = read_instance(instance, settings.pop(instance), reward_range)
    known: dict[str, Any] = {**shape(noise == "gaussian")} | ({} if drift is None else {"drift": check_drift(drift)})
    if policy:
        policies = {name: _made(name, built, known, settings[name]) for name in names}
        note = ""
    else:
        policies, note = _usual(built, known, settings)
    model = {"gaussian": usual_noise(built), "bernoulli": noises.Bernoulli(), "bounded": noises.Bounded()}[noise]
    check_outputs(figures=[plot], files=[keep])
    result = simulate(policies, built, model, runs=runs, seed=seed, workers=workers, keep=keep)
    if note:
        print(note, file=sys.stderr)
    _print_summary(result)
    if plot is not None:
        save_figure(result.plot(), plot)
        print(f"wrote {plot}")


def _made(name: str, instance: Instance, known: dict[str, Any], settings: dict[str, Any]) -> Any:
    """A policy, told what the instance tells, what is known, and what was set; defined for so many arms."""
    from driftbandits.policies import POLICIES, make_policy

    if name in POLICIES:
        check_parameters(name, POLICIES[name], settings)
    made = make_policy(name, instance, **{**known, **settings})
    made.check_arms(instance.n_arms)
    return made


def _usual(
    instance: Instance, known: dict[str, Any], settings: dict[str, dict[str, Any]]
) -> tuple[dict[str, Any], str]:
    """Policies for those who named none, as far as they can do here what they are for; and what to say of that."""
    asked = {name: _made(name, instance, known, given) for name, given in settings.items() if given}

    def fitting(names: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in names:
            with suppress(InputError):
                found[name] = asked.get(name) or _made(name, instance, known, {})
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FeasibilityWarning)  # what is not played is said below
        snoozing, note = _first_that_snoozes(fitting(SNOOZING), instance)
    rivals = fitting(RIVALS) or fitting(STILL)
    return snoozing | rivals | asked, note


def _first_that_snoozes(policies: dict[str, Any], instance: Instance) -> tuple[dict[str, Any], str]:
    """One of them, or none; and why not those before it."""
    from driftbandits.instances.noise import Gaussian
    from driftbandits.simulation.simulate import simulate

    left: list[str] = []
    chosen: dict[str, Any] = {}
    for name, policy in policies.items():
        why = policy.why_never() or policy.why_never(instance)
        if why is None:
            alone = {name: policy}
            played = simulate(alone, instance, Gaussian(0.0), runs=1, checkpoints=1, events=True, progress=False)
            if name in played.events and played.events[name]["snoozed"].sum() > 0:
                chosen = alone
                break
            why = f"{name} snoozes no arm of {instance.name!r} even without noise."
        left.append(why)
    which = next(iter(chosen), "no policy that snoozes")
    why = f", since {' '.join(left)}" if left else f": it snoozes an arm of {instance.name!r}"
    return chosen, f"note: {which} is played{why}" if left or chosen else ""


def _print_summary(result: Any) -> None:
    from driftbandits._common.tables import print_table

    runs = f"{result.runs:,} run{'s' * (result.runs > 1)}"
    print_table(
        result.summary(),
        f"{result.instance.name}: T = {result.instance.horizon:,}, {runs}, seed {result.seed}",
        {"policy": "", "regret": ",.1f", "low": ",.1f", "high": ",.1f", "realised": ",.1f", "ns_per_step": ".1f"},
        caption="regret: mean dynamic pseudo-regret at T; low, high: its 95 % interval",
    )
