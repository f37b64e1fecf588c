"""A page for each policy, from its docstring: ``python -m driftbandits.research.pages docs/policies``."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftbandits import instances
from driftbandits._common import plotting as figures
from driftbandits._common.files import written_whole
from driftbandits._common.intervals import mean_interval
from driftbandits._common.rewards import Rewards
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.instances import Instance
from driftbandits.policies import POLICIES, Policy, make_policy
from driftbandits.simulation.result import Simulation
from driftbandits.simulation.simulate import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RUNS = 20
DOTS_PER_INCH = 100
"""Enough for a page on a screen, in some 30 KB a picture."""

DRIFT_WHERE_THERE_IS_NONE = 1e-6
"""What policies are told on stationary arms, since many tunings are undefined for a drift of 0."""

YARDSTICK = "SWUCBSharp"
"""The policy drawn in grey on every page, so that pages can be compared."""

ALSO: dict[str, dict[str, Any]] = {
    "AdSwitch": {"c1": 1.0},
    "META": {"c0": 0.01},
    "SnoozeIt": {"confidence": 0.1},
}
"""Settings more eager than the default, drawn as a second curve where proofs ask for more caution than this T pays."""

GAUSSIAN = {"GLRUCB": {"test": "gaussian"}, "KLUCB": {"kl": "gaussian"}}
"""What is drawn of policies that in their usual form are defined for rewards in [0, 1], since the noise is Gaussian."""

FORMS = {"kl": ("bernoulli", "gaussian"), "test": ("bernoulli", "gaussian"), "posterior": ("gaussian", "beta")}
"""Parameters that decide for which rewards a policy is defined."""

TOLD = {"horizon": "T", "drift": "the drift", "best_arms": "the best arm of every step"}
"""What each of these parameters is called in captions."""

INDEX = """\
# The policies

One page each, made from its docstring by `make docs`. All are names of `driftbandits`, and the command
`driftbandits simulate --policy NAME` runs them. T is the horizon, K the number of arms, delta the drift limit,
V = delta T.

| Policy | In a line | It must know | Rewards | Citation |
|---|---|---|---|---|
"""


def index() -> str:
    """The table of all policies, as Markdown."""
    rows = [
        f"| [{name}]({name}.md) | {summary(name)} | {must_know(name)} | {rewards(name)} | {citation(name)} |"
        for name in sorted(POLICIES)
    ]
    return INDEX + "\n".join(rows) + "\n"


def page(name: str) -> str:
    """The page of one policy, as Markdown.

    >>> page("RoundRobin").splitlines()[:2]
    ['# RoundRobin', '']
    """
    policy = POLICIES[name]
    file = policy.__module__.rpartition(".")[2]
    call = name + str(inspect.signature(policy, eval_str=True)).removesuffix(" -> None")
    alt = f"Regret of {name} against time, on toggling and on stationary arms"
    parts = [
        f"# {name}",
        f"```python\n{call}\n```",
        _markdown(_docstring(name)),
        f"Rewards: {rewards(name)}.",
        f"![{alt}]({name}.png)",
        _caption(name),
        f"[All policies](README.md) · [its code](../../src/driftbandits/policies/{file}.py)",
        "*Made by `make docs` from the docstring: change that, not this.*",
    ]
    return "\n\n".join(parts) + "\n"


def summary(name: str) -> str:
    """The first line of the docstring.

    >>> summary("Uniform")
    'Each arm with probability 1/K, whatever the rewards are. It must know nothing.'
    """
    return _cell(_docstring(name).partition("\n")[0])


def must_know(name: str) -> str:
    """What the docstring says after "It must know", up to the end of the clause.

    >>> must_know("Rexp3")
    'V and T, or be given ``batch``'
    """
    return _said(name, r"It must know (.+?)[.;:](?= |$)")


def rewards(name: str) -> str:
    """The rewards that the policy declares, in each of its forms.

    >>> rewards("UCB1")
    '[0, 1], or 1/2-sub-Gaussian around means in [0, 1]'
    >>> rewards("ThompsonSampling").rpartition("; ")[2]
    '`posterior="beta"`: [0, 1]'
    >>> rewards("RAWUCB").partition("; ")[2]
    '`sigma` other than 1/2: any, with noise of standard deviation sigma at most'
    """
    parameter = next((each for each in FORMS if each in inspect.signature(POLICIES[name]).parameters), None)
    forms = [{parameter: form} for form in FORMS[parameter]] if parameter else [{}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FeasibilityWarning)
        made = [make_policy(name, instances.toggling(), **form) for form in forms]
    said = [policy.rewards.value.removeprefix("rewards in ").replace("any rewards", "any") for policy in made]
    told = [f'`{parameter}="{form[parameter]}"`: ' if parameter else "" for form in forms]
    found = [form + words for form, words in zip(told, said, strict=True)]
    told_sigma = (type(each)(**each.get_params() | {"sigma": 2.0}) for each in made if hasattr(each, "sigma"))
    if any(each.rewards is Rewards.SIGMA for each in told_sigma):
        found.append("`sigma` other than 1/2: " + Rewards.SIGMA.value.replace("any rewards", "any"))
    return "; ".join(found)


def citation(name: str) -> str:
    """What the docstring says after "Citation:", up to the end of the paragraph.

    >>> citation("RoundRobin")
    'none; the plainest baseline there is.'
    """
    return _said(name, r"Citation: (.+?)(?=$| >>>)")


def _docstring(name: str) -> str:
    return inspect.cleandoc(POLICIES[name].__doc__ or "")


def _said(name: str, pattern: str) -> str:
    found = re.search(pattern, " ".join(_docstring(name).split()))
    if found is None:
        raise InputError(f"the docstring of {name} says nothing like {pattern!r}, which its page needs")
    return _cell(found[1])


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _markdown(docstring: str) -> str:
    """A docstring is Markdown, except for its examples and the pages of docs/ that it names."""
    fenced = re.sub(r"(?m)^>>> (?:.+\n?)+", lambda found: f"```python\n{found[0].rstrip()}\n```\n", docstring)
    return re.sub(r"``docs/(\S+\.md)``", r"[\1](../\1)", fenced).rstrip()


def _caption(name: str) -> str:
    parameters = inspect.signature(POLICIES[name]).parameters
    told = " and ".join(words for parameter, words in TOLD.items() if parameter in parameters) or "nothing"
    if "drift" in parameters:
        told += f" (on stationary arms: {DRIFT_WHERE_THERE_IS_NONE * 1e6:g} in a million)"
    form = ", ".join(f'`{key}="{value}"`' for key, value in GAUSSIAN.get(name, {}).items())
    played = f" and has {form}" if form else ""
    return (
        f"Dynamic pseudo-regret on `instances.toggling()` and `instances.stationary()`, two arms, T = 162,755,\n"
        f"Gaussian noise of deviation 1/2: the mean of {RUNS} runs, and a band for its 95 % interval.\n"
        f"The policy is told {told}{played}. Grey, for comparison: {YARDSTICK}, told T and the drift."
    )


def draw(name: str) -> Figure:
    """The policy's regret on both instances, and the yardstick's."""
    figure: Figure
    with figures.canvas(1, 2, size=(6.4, 2.6)) as (figure, both):
        for axes, instance in zip(both, (instances.toggling(), instances.stationary()), strict=True):
            _draw_regret(axes, simulate(policies_drawn(name, instance), instance, runs=RUNS, progress=False))
        both[0].set_ylabel("regret")
        figure.legend(*both[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def policies_drawn(name: str, instance: Instance) -> dict[str, Policy]:
    """The policy, told by the instance what it asks for; perhaps a more eager form of it; and the yardstick."""
    known = {} if instance.drift_limit else {"drift": DRIFT_WHERE_THERE_IS_NONE}
    policies = {name: make_policy(name, instance, **{**known, **GAUSSIAN.get(name, {})})}
    if name in ALSO:
        settings = ", ".join(f"{key} = {value:g}" for key, value in ALSO[name].items())
        policies[f"{name}, {settings}"] = make_policy(name, instance, **{**known, **ALSO[name]})
    return policies | {YARDSTICK: make_policy(YARDSTICK, instance, **known)}


def _draw_regret(axes: Any, result: Simulation) -> None:
    for index, (label, regret) in enumerate(result.regret.items()):
        mean, low, high = mean_interval(regret)
        if index > 0 and label == YARDSTICK:
            axes.plot(result.times, mean, label=label, color="0.6", linewidth=1.2)
        else:
            axes.plot(result.times, mean, label=label, **figures.line_style(index))
            figures.shade(axes, result.times, low, high, index)
    axes.set(xlabel="step t", title=result.instance.name, xlim=(0, result.instance.horizon))
    figures.thousands(axes.xaxis, 3)
    figures.thousands(axes.yaxis, 4)


def write_pages(folder: Path) -> None:
    """The index, and for every policy a page and its picture."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted(POLICIES):
        print(folder / f"{name}.md")
        _write(folder / f"{name}.md", page(name))
        figures.save_figure(draw(name), folder / f"{name}.png", dpi=DOTS_PER_INCH)
    _write(folder / "README.md", index())


def _write(path: Path, text: str) -> None:
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore", FeasibilityWarning)
    write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/policies"))
