"""``python -m reproduction``: run every study of the paper, or what is left of them, and write the report."""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

import driftbandits as db
from reproduction.context import Context, Settings, written_whole
from reproduction.report.page import SECTIONS, Outcome, write_report
from reproduction.studies import STUDIES

DRAWING = 1.5
"""Seconds that a section takes to draw, about."""


def main(words: Sequence[str] | None = None) -> int:
    """Return 0; bad input is one line and 2, Ctrl-C is 130."""
    given = _parser().parse_args(words)
    try:
        with warnings.catch_warnings():
            # That the printed SnoozeIt cannot snooze is a finding here, not a mistake of the caller.
            warnings.simplefilter("ignore", db.FeasibilityWarning)
            settings = Settings(given.runs, given.seed)
            found = reproduce(settings, given.out, only=given.only, workers=given.workers, again=given.again)
    except KeyboardInterrupt:
        print("stopped; the same command resumes", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"cannot write {error.filename}: {error.strerror}; choose another --out", file=sys.stderr)
        return 2
    _print(found)
    return 0


def reproduce(
    settings: Settings, out: Path, *, only: str | None = None, workers: int | None = None, again: bool = False
) -> Outcome:
    """Write runs, studies, figures, summary.json and report.html below ``out``; finished files are kept.

    ``only`` names one section to run and report alone. ``again`` computes everything once more, as one should after a
    change of code. Numbers depend on the settings alone, never on ``workers`` or on interruptions.
    """
    sections = SECTIONS if only is None else {only: SECTIONS[only]}
    wanted = {name for needs in sections.values() for name in needs}
    studies = [study for study in STUDIES.values() if study.name in wanted]
    timings: dict[str, float] = {}
    with written_whole(out / "timings.json") as temporary:  # a place that cannot be written is found out now
        temporary.write_text("{}\n")
    context = Context(settings, out, workers, again=again)
    with _progress(sum(study.weight for study in studies) + DRAWING * len(sections)) as advance:
        results = {}
        for study in studies:
            begun = time.monotonic()
            advance(study.name, 0)
            results[study.name] = study.result(context)
            timings[study.name] = round(time.monotonic() - begun, 3)
            advance(study.name, study.weight)
        begun = time.monotonic()
        outcome = write_report(context, results, lambda: advance("report", DRAWING), sections)
        timings["report"] = round(time.monotonic() - begun, 3)
    with written_whole(out / "timings.json") as temporary:
        temporary.write_text(json.dumps(timings, indent=1) + "\n")
    return outcome


@contextmanager
def _progress(total: float) -> Iterator[Callable[[str, float], None]]:
    """A bar on a terminal, nothing elsewhere."""
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("reproduction", total=total)
        yield lambda doing, done: bar.update(task, advance=done, description=doing)


def _print(found: Outcome) -> None:
    shown = Table("claim", "as printed", "as released", "calibrated")
    for one in found.judged:
        if one.statement.claim and one.verdicts:
            shown.add_row(one.statement.claim, *(verdict.kind for verdict in one.verdicts.values()))
    if shown.row_count:
        Console().print(shown)
    print(f"wrote {found.page}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m reproduction", description=__doc__)
    parser.add_argument("--runs", type=_whole(1), default=100, help="runs of each policy; the paper has 10 (100)")
    parser.add_argument("--seed", type=_whole(0), default=0, help="the same seed gives the same result, bit for bit")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where the report and its data go (results)")
    parser.add_argument("--only", choices=list(SECTIONS), metavar="SECTION", help="one section of the report alone")
    parser.add_argument("--workers", type=_whole(1), help="threads (all cores); the result does not depend on it")
    parser.add_argument("--again", action="store_true", help="compute finished files once more")
    return parser


def _whole(least: int) -> Callable[[str], Any]:
    def check(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number, at least {least}; got {text}")
        return int(text)

    return check


if __name__ == "__main__":
    sys.exit(main())
