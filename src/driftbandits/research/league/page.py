"""The league's page, made with the code of the paper's report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftbandits._common.versions import versions
from driftbandits.research.league.against_autots import OLD, by_kind_and_noise, judge_new
from driftbandits.research.league.answer import answer, plot_answer
from driftbandits.research.league.as_recorded import recorded_section
from driftbandits.research.league.delays import REFERENCE, delay_standings, plot_delays
from driftbandits.research.league.figures import plot_ratios
from driftbandits.research.league.matches import ABRUPT, DRIFTING, REAL, STATIONARY, matches
from driftbandits.research.league.report.content import Claim, Content, Drawing, Page, Section
from driftbandits.research.league.report.drawings import save_drawing
from driftbandits.research.league.report.parts import Settings
from driftbandits.research.league.standings import OURS, best_single, by_family, mean_regrets, published
from driftbandits.research.league.verdicts import AUTO, judge
from driftbandits.simulation.detections import detection_table, plot_detections
from driftbandits.simulation.result import Simulation

if TYPE_CHECKING:
    import polars as pl

TITLES = {
    "policy": "policy",
    "told": "told",
    "drifting": "drifting",
    "worst": "worst family",
    "worst_family": "which",
    "stationary": "stationary",
    "abrupt": "abrupt",
    "real": "real",
    "lower_bound": "lower bound",
    "changing_arms": "changing arms",
    "ns_per_step": "ns a step",
    "played": "drifting instances played",
}

DELAY_TABLES = {
    "Drifting instances": (DRIFTING,),
    "Clicks and ad prices": (REAL,),
    "Stationary instances": (STATIONARY,),
    "Instances that jump": (ABRUPT,),
}


def page(settings: Settings) -> Page:
    """What the league's page is called and how it is headed."""
    return Page(
        file="league.html",
        title="The league of policies",
        heading="The league:",
        emphasis="what should I use?",
        lead="Every policy of the package on a fixed set of instances that drift, stand still, jump, were measured "
        "in the world, or have arms that come and go. Each is told what its own tuning asks for, and all meet the same "
        "noise.",
        opening="The answer",
        judged="",
        judging="What this package claims of its own policies, against published ones and against each other.",
        chapters={"instance": "The standings", "detection": "Changes detected", "reading": "How to read it"},
        again="With the package installed, one command writes this page.",
        command=f"driftbandits league --horizon {settings.horizon}",
        beside="Beside this page lie every figure as SVG, PNG and PDF (in `figures/`), the runs as Parquet (in "
        "`runs/`), `standings.csv`, and",
        data="league.parquet",
        data_holds="with the regret of every policy, instance and run.",
    )


def compose(
    settings: Settings,
    played: dict[str, Simulation],
    runs: pl.DataFrame,
    table: pl.DataFrame,
    late: pl.DataFrame,
    recorded: pl.DataFrame,
    out: Path,
) -> Content:
    """The page's content; draws its figures below ``out``."""
    judged = judge_new(runs) + judge(runs)
    return Content(
        runs=settings.runs,
        seed=settings.seed,
        versions=versions("scipy", "matplotlib"),
        summary=_summary(settings, table, judged),
        opening=[_answer_section(runs, out)],
        experiments=[
            _standings_section(runs, table, out),
            _kinds_section(runs),
            recorded_section(recorded),
            _delay_section(late, out),
        ],
        claims=judged,
        facts=[_detection_section(settings, played, out)],
        left_open=[_reading(settings)],
        page=page(settings),
    )


def _answer_section(runs: pl.DataFrame, out: Path) -> Section:
    drawing = save_drawing(
        out,
        "answer",
        "What is lost, of every 100 that choosing at random loses",
        "Shorter is better. On the left what each policy must be told; T is the horizon, δ the drift. The names above "
        "are those of four kinds of instances: means that drift, that stand still, that jump, and that were measured "
        "in the world, each with a scale of its own. Geometric means over families of instances.",
        {"ours": lambda: plot_answer(runs)},
    )
    return Section("answer", "What should I use?", [answer(runs)], [drawing])


def _summary(settings: Settings, table: pl.DataFrame, judged: list[Claim]) -> list[str]:
    said = [
        f"{len(table)} policies, {sum(1 for _ in matches(settings.horizon))} instances, T = {settings.horizon:,}, "
        f"{settings.runs} run{'s' * (settings.runs > 1)} of each, seed {settings.seed}."
    ]
    for words in table["told"].unique(maintain_order=True):
        first = table.filter(told=words).row(0, named=True)
        said.append(
            f"Told {words}: {first['policy']} is best of these on drifting instances, with {first['drifting']:.3g} "
            f"times the regret of the best policy told no more on each instance; its worst family is "
            f"{first['worst_family']}, {first['worst']:.3g} times."
        )
    for claim in judged:
        verdicts = ", ".join(f"{name} {found.verdict}" for name, found in claim.verdicts.items())
        said.append(f"{claim.name}: {verdicts}." if verdicts else f"{claim.name}: nobody to judge.")
    return said


def _standings_section(runs: pl.DataFrame, table: pl.DataFrame, out: Path) -> Section:
    order = table.sort("drifting", nulls_last=True)["policy"].to_list()
    ours = [name for name in OURS if name in order]
    drawing = save_drawing(
        out,
        "league",
        "Every policy on every family",
        "Regret over that of the best published policy on each instance, geometric mean over a family's instances; "
        f"below 1 is better than all that is published. Policies of this package: {', '.join(ours)}. "
        "A dash: the policy is not defined there.",
        {"ours": lambda: plot_ratios(runs, order)},
    )
    text = (
        "Regret over that of the best policy told no more: geometric means over families of instances. 1 is the best "
        "there is at this price."
    )
    rows = [{TITLES[key]: value for key, value in row.items()} for row in table.iter_rows(named=True)]
    return Section("standings", "Standings", [text], [drawing], {"Standings, by what a policy is told": rows})


def _kinds_section(runs: pl.DataFrame) -> Section:
    regrets = mean_regrets(runs)
    best = best_single(regrets, published(regrets), DRIFTING)
    there = set(regrets["policy"])
    pairs = [(name, rival) for name in AUTO if name in there for rival in (OLD, best) if rival in there - {name}]
    text = (
        "The same comparisons for every kind of instance and every noise. A ratio below 1: the first has less regret. "
        "Geometric means over families, with 95 % intervals from leaving out one run at a time."
    )
    tables = {f"{name} over {rival}": by_kind_and_noise(runs, name, rival) for name, rival in pairs}
    return Section("kinds", "By kind and noise", [text], [], tables)


def _delay_section(late: pl.DataFrame, out: Path) -> Section:
    text = (
        "Real rewards are late: a click comes minutes after its page was shown, and many pages are sent at a time. "
        f"Regret is over that of {REFERENCE} when it is told every reward at once, so that numbers can be compared "
        "along rows (what it costs to learn late) and along columns (which policy to take). Policies that take rewards "
        "in any order learn each when it comes; GLRUCB must learn in turn, and repeats an arm until it can go on. "
        "“late 100”: each reward comes 100 steps late. “by 100”: 100 choices are made before any of their rewards."
    )
    tables = {
        title: [{"policy": row.pop("policy"), **row} for row in delay_standings(late, kinds).iter_rows(named=True)]
        for title, kinds in DELAY_TABLES.items()
    }
    return Section("late", "Late rewards and bundles", [text], [delay_drawing(delay_standings(late), out)], tables)


def delay_drawing(table: pl.DataFrame, out: Path) -> Drawing:
    """The figure of ``delay_standings``, as files below ``out``."""
    caption = (
        f"Regret over that of {REFERENCE} told every reward at once, geometric mean over drifting instances. Left: "
        "each reward comes so many steps late. Right: so many choices are made before any of their rewards is known."
    )
    return save_drawing(out, "late", "When rewards come late", caption, {"ours": lambda: plot_delays(table)})


def _detection_section(settings: Settings, played: dict[str, Simulation], out: Path) -> Section:
    abrupt = [match.name for match in matches(settings.horizon) if match.kind == ABRUPT]
    tables = {}
    for name in abrupt:
        found = detection_table(played[name])
        tables[name] = [_detection_row(row) for row in found.iter_rows(named=True)]
    drawing = save_drawing(
        out,
        "detections",
        f"Changes seen, {abrupt[0]}",
        "The share of true changes that a policy has seen within so many steps; false alarms stand in the legend.",
        {"ours": lambda: plot_detections(played[abrupt[0]])},
    )
    text = "Policies that detect changes, on instances that jump: how late, how many missed, how many false alarms."
    return Section("detections", "Delays, misses, false alarms", [text], [drawing], tables)


def _detection_row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "policy": row["policy"],
        "delay, steps": row["delay"],
        "share of changes missed": row["missed"],
        "false alarms per 100,000 steps": row["false_alarms"],
    }


def _reading(settings: Settings) -> Section:
    told = (
        "Policies are told the horizon T, the drift δ (the largest step of any mean) and the shape of the noise, if "
        "their tuning asks for them. Where means jump, those that ask for the number of changes are told it, and "
        "others V/T, the total variation spread evenly, in place of δ."
    )
    kinds = (
        "A ratio is first averaged over the instances of a family and then over families, always geometrically. The "
        "lower bound's instances stand apart: there, by design, no policy can do much better. A policy that is defined "
        "for two arms only plays fewer instances, so its average is over others. Real instances are medians of a day, "
        "interpolated, so that the regret is exact; no policy was tuned on them. Where arms come and go, regret is "
        "against the best arm that is there, and a policy that can't go on begins anew at every change."
    )
    rows = [
        {"instance": match.name, "kind": match.kind, "arms": match.instance.n_arms, "noise": type(match.noise).__name__}
        | {"δ told": match.drift}
        for match in matches(settings.horizon)
    ]
    return Section("instances", "What is measured", [told, kinds], [], {"The instances": rows})


def shipped(ratios: pl.DataFrame) -> pl.DataFrame:
    """The small table that ``recommend`` reads: ratios to the best of all policies, for each policy and family."""
    import polars as pl

    rounded = by_family(ratios).with_columns(pl.col("ratio").round_sig_figs(4))
    return rounded.select("policy", "told", "kind", "family", "ratio", "instances")
