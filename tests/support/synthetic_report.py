"""A report of everything a report may hold, with invented numbers and small figures."""

from pathlib import Path

from driftbandits._common.plotting import canvas, line_style, save_figure, shade, thousands
from driftbandits.research.league.report.content import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Claim,
    Content,
    Drawing,
    Page,
    Section,
    Verdict,
)

HOSTILE = "<script>alert('x')</script> & \"quoted\" <b>"
LONG = "A sentence long enough to wrap on any screen, as a referee's patience must, about `confidence` and regret. " * 3

PAGE = Page(
    file="report.html",
    title="A report",
    heading="A report,",
    emphasis="run again",
    lead=LONG,
    opening="The policy",
    judged="SnoozeIt ",
    judging=LONG,
    chapters={"experiment": "The experiments", "fact": "The facts", "decision": "The decisions"},
    again="`make report` writes it.",
    command="driftbandits report",
    beside="Beside it lies",
    data="summary.json",
    data_holds="with the numbers.",
)


def synthetic_content(out: Path) -> Content:
    """A Content, and in ``out`` the figures that it names."""
    regret = Drawing(
        "regret",
        "Regret on the toggling instance",
        LONG,
        {form: _draw(out, f"regret-{form}") for form in ("ours", "paper")},
    )
    wide = Drawing("wide", "Four zoom levels", HOSTILE, {"ours": _draw(out, "zoom", columns=4, size=(12.0, 3.4))})
    rows = [
        {
            "policy": name,
            "drift": "1/48,000",
            "regret at T": 45012.4,
            "interval": "[44,702, 45,322]",
            "episodes": 76,
            "snoozes": None,
            "remark, which may be long": LONG[:60],
            "shown in": "toggling",
        }
        for name in ("SnoozeIt printed", "SW-UCB#", "Exp3.S")
    ]
    toggling = Section(
        "toggling", "Experiment 2: toggling", [LONG, HOSTILE], [regret, wide], {"Regret at the horizon": rows}
    )
    separated = Section("separated", "Experiment 1: well separated", [LONG], [regret])
    verdicts = {
        "printed": Verdict(FAILS, "51,128 [51,128, 51,128] against 2,512 [2,480, 2,544]"),
        "released": Verdict(UNDECIDED, "45,012 [44,702, 45,322]"),
        "calibrated": Verdict(HOLDS, "Regret 1,892 (1,870 to 1,914). SW-UCB# less it -3,156 (-3,482 to -2,829)."),
    }
    return Content(
        runs=100,
        seed=0,
        versions={"driftbandits": "0.1.0", "python": "3.11.9", "numpy": "2.4.6", "numba": "0.68.1"},
        summary=[LONG] * 3 + ["Regret falls by -3 to -2 %."],
        experiments=[separated, toggling],
        claims=[Claim(f"Claim {n}", LONG[:140], LONG[:90], verdicts) for n in range(1, 8)],
        page=PAGE,
        facts=[Section("confidence", "How regret depends on confidence", [LONG], [wide], {"Confidence": rows})],
        left_open=[Section(f"decision {n}", f"Decision {n}", [LONG]) for n in range(1, 4)],
        opening=[
            Section(
                "policy",
                "What the policy does",
                [LONG],
                [regret],
                {"Names": rows, "Numbers": [{"n": n} for n in range(50)]},
            )
        ],
    )


def _draw(out: Path, stem: str, columns: int = 1, size: tuple[float, float] = (6.4, 4.0)) -> str:
    with canvas(1, columns, size, squeeze=False) as (figure, grid):
        for axes in grid.flat:
            for i in range(3):
                axes.plot([0, 80_000, 160_000], [0, 10_000 * i, 30_000 + i], label=f"policy {i}", **line_style(i))
                shade(axes, [0, 160_000], [0, 29_000], [0, 31_000], i)
            axes.set_xlabel("time")
            axes.legend()
            thousands(axes.yaxis)
        for ending in ("svg", "png", "pdf"):
            save_figure(figure, out / f"{stem}.{ending}")
    return stem
