"""The command line. Every command imports what it needs when it runs, so that --help answers at once."""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError, UnknownCommandError, UnusedCliTokensError

from driftbandits._common.checks import did_you_mean
from driftbandits.cli.demo import demo
from driftbandits.cli.league import league, recommend
from driftbandits.cli.options import COMPARE, LIVE, PAPER, Whole, check_outputs, read_instance
from driftbandits.cli.replay import replay
from driftbandits.cli.serve import serve, token
from driftbandits.cli.simulate import simulate
from driftbandits.cli.store import experiments, export, store
from driftbandits.cli.sweep import sweep
from driftbandits.errors import DriftbanditsError, InputError

app = App(
    name="driftbandits",
    suppress_keyboard_interrupt=False,
    help="""Bandits whose reward means drift slowly: which policy follows them best?

    See policies compete on an instance of the paper, on a random walk, on means of your own:

        driftbandits simulate
        driftbandits simulate walk --runs 20 --plot regret.png
        driftbandits simulate means.csv

    Ask which policy to use, and why:

        driftbandits recommend --drift 1e-4

    Watch live decisions in a browser:

        driftbandits demo

    COMMAND --help explains each with examples.""",
)
app.command(simulate, group=COMPARE)
app.command(recommend, group=COMPARE)
app.command(sweep)
app.command(demo, group=LIVE)
app.command(serve, group=LIVE)
app.command(token)
app.command(store)
app.command(experiments, group=LIVE)
app.command(export, group=LIVE)
app.command(replay, group=LIVE)
app.command(league, group=PAPER)


@app.command(group=COMPARE)
def gap(
    instance: str = "toggling",
    *,
    reward_range: tuple[float, float] | None = None,
    plot: Path = Path("gap.png"),
) -> None:
    """Show how hard an instance is: its gap, and its detectable gap, at four zoom levels.

    For example: driftbandits gap sinusoid --plot gap.png

    Parameters
    ----------
    instance
        A family of instances with two arms (toggling, separated, sinusoid, walk, ...), or a file of means.
    reward_range
        The least and the largest reward of a file's instance, where means are not in [0, 1]. Gaps are of rewards
        rescaled to [0, 1].
    plot
        Draw the figure to this file (.png, .svg or .pdf).
    """
    import numpy as np

    from driftbandits._common.plotting import save_figure
    from driftbandits.theory.figures import plot_gap_profile
    from driftbandits.theory.gaps import gap_profile

    built = read_instance(instance, reward_range=reward_range).rescaled()
    check_outputs(figures=[plot])
    profile = gap_profile(built)
    shown = profile.window > 0
    print(f"{built}")
    print(f"gap: median {np.median(built.gap):.3g}, largest {built.gap.max():.3g}")
    print(f"detectable gap: median {np.median(profile.gap):.3g}, least {profile.gap.min():.3g};")
    print(f"a window shows it at {shown.mean():.1%} of steps" + _median_window(profile.window[shown]))
    save_figure(plot_gap_profile(built), plot)
    print(f"wrote {plot}")


def _median_window(windows: Any) -> str:
    import numpy as np

    return f", half of the time in {int(np.median(windows)):,} steps or fewer" if len(windows) else ""


@app.command(group=PAPER)
def bounds(
    horizon: Whole = 162_755,
    drift: float = 1 / 48_000,
    *,
    instance: str | None = None,
    reward_range: tuple[float, float] | None = None,
    plot: Path | None = None,
) -> None:
    """Print the paper's regret bounds, with their terms, and draw them.

    For example: driftbandits bounds 1e6 1e-5, or, for one instance: driftbandits bounds --instance separated

    Parameters
    ----------
    horizon
        T, the number of steps.
    drift
        delta, the drift limit.
    instance
        Also bound the regret on this instance (Theorem 1): a family with two arms, or a file of means. Its own horizon
        and drift limit are used throughout.
    reward_range
        The least and the largest reward of a file's instance, where means are not in [0, 1]. Bounds are for rewards
        rescaled to [0, 1].
    plot
        Draw the bound on regret per step of an episode (the paper's appendix B) to this file.
    """
    from driftbandits._common.plotting import save_figure
    from driftbandits.theory import bounds as theorems
    from driftbandits.theory.feasibility import explain_feasibility
    from driftbandits.theory.figures import plot_episode_bounds

    check_outputs(figures=[plot])
    if instance is not None:
        built = read_instance(instance, reward_range=reward_range).rescaled()
        horizon, drift = built.horizon, built.drift_limit
        whole = theorems.instance_dependent(built, drift)
        in_blocks = f"{whole.per_block.sum():,.0f} in {len(whole.per_block)} blocks"
        print(f"Theorem 1, on {built.name}: {whole.total:,.0f} = {in_blocks}")
        print(f"    + {whole.episode_ends:,.0f} for ends of episodes + {whole.bad_event:,.0f} for the bad event")
    upper, lower = theorems.minimax_upper(horizon, drift), theorems.minimax_lower(horizon, drift)
    print(f"Theorem 2, any instance: {upper.total:,.0f} = {upper.all_steps:,.0f} ({upper.per_step:.4g} a step)")
    print(f"    + {upper.last_episode:,.0f} for the last episode + {upper.episode_ends:,.0f} for ends of episodes")
    print(f"    + {upper.bad_event:,.0f} for the bad event")
    tight = theorems.snoozeit_tight(horizon, drift)
    print(f"SnoozeItTight, any instance: {tight.total:,.0f} ({tight.per_step:.4g} a step); this package's own")
    print(f"Theorem 3, some instance, any policy: {lower.total:,.1f}, the largest of {lower.bumps:,.1f} for bumps")
    others = f"{lower.constant_gap:,.1f} for a constant gap and {lower.coin_flips:,.1f} for coin flips"
    print(f"    in {lower.blocks:,} blocks, {others}")
    print(f"An episode lasts at least {theorems.shortest_episode(horizon, drift):,.0f} steps,")
    print(f"    so there are at most {theorems.most_episodes(horizon, drift):,.1f} of them")
    print(explain_feasibility(horizon, drift))
    if plot is not None:
        save_figure(plot_episode_bounds(horizon, drift), plot)
        print(f"wrote {plot}")


@app.command(group=PAPER)
def bench(quick: bool = False) -> None:
    """Measure what a step costs: nanoseconds, and the multiple of drawing the reward itself.

    For example: driftbandits bench --quick

    Parameters
    ----------
    quick
        Skip the long horizon of 10^7 steps.
    """
    from driftbandits.research.bench import print_benchmarks

    print_benchmarks(quick)


def _show_warning(message: Warning | str, *details: Any) -> None:
    print(f"note: {message}", file=sys.stderr)


def main(words: Sequence[str] | None = None) -> None:
    """Entry point: bad input is one line on standard error and exit code 2; what the machine lacks 1; Ctrl-C 130."""
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # no δ in a pipe of Windows; better a ? than a traceback
    try:
        app(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print(f"driftbandits: {_one_sentence(error)}", file=sys.stderr)
        sys.exit(2)
    except DriftbanditsError as error:
        print(f"driftbandits: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except KeyboardInterrupt:
        print("driftbandits: stopped", file=sys.stderr)
        sys.exit(130)


def _one_sentence(error: CycloptsError) -> str:
    """What is wrong with words that no command takes, and where to read on."""
    place = " ".join(["driftbandits", *(error.command_chain or ())])
    if isinstance(error, UnknownCommandError) and error.unused_tokens:
        word = error.unused_tokens[0]
        known = [name for name in (error.app or app) if not name.startswith("-")]
        said = f"there is no command {word!r}; {did_you_mean(word, known)}known: {', '.join(sorted(known))}"
    elif isinstance(error, UnusedCliTokensError):
        said = f"there is no place for {' '.join(error.unused_tokens or [])!r}"
    else:
        said = " ".join(str(error).split()).rstrip(".")
        said = re.sub(r"(?:^|\. )([A-Z])", lambda found: "; " + found[1].lower(), said).removeprefix("; ")
        named = error.argument is None or error.argument.name.lstrip("-") in said
        said = said if named or error.argument is None else f"{error.argument.name.lstrip('-')}: {said}"
    return f"{said} ({place} --help explains it)"
