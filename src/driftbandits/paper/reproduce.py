"""reproduce(): run every experiment and study of the paper, or what is left of them, and write the report."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from driftbandits.checks import check_whole
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.files import written_whole
from driftbandits.instances.base import HORIZON
from driftbandits.paper import compose
from driftbandits.paper.content import Content
from driftbandits.paper.parts import Part, Settings
from driftbandits.paper.plan import NEEDS, parts
from driftbandits.paper.progress import Progress, progress

DRAWING = "drawing"


def reproduce(
    runs: int = 100,
    seed: int = 0,
    out: Path = Path("results"),
    *,
    only: str | None = None,
    workers: int | None = None,
    again: bool = False,
    horizon: int = HORIZON,
) -> Content:
    """Write runs, figures, summary.json and report.html below ``out``; parts finished by an earlier call are kept.

    ``only`` names one experiment or study to run and report alone, ``again`` runs finished parts once more. Numbers
    depend on ``runs``, ``seed`` and ``horizon`` alone, never on ``workers`` or on interruptions. What one call took is
    in timings.json.
    """
    settings = Settings(check_whole("runs", runs, 1), check_whole("seed", seed, 0), check_whole("horizon", horizon, 2))
    workers = None if workers is None else check_whole("workers", workers, 1)
    groups = _groups(only)
    needed = {*groups, *(need for group in groups for need in NEEDS.get(group, ()))}
    todo = [part for part in parts() if part.group in needed]
    timings: dict[str, float] = {}
    _write_json(out / "timings.json", timings)  # a place that cannot be written is found out before the work
    with warnings.catch_warnings(), progress([*todo, _drawing(groups)]) as shown:
        # That the printed SnoozeIt cannot snooze is a finding here, not a mistake of the caller.
        warnings.simplefilter("ignore", FeasibilityWarning)
        results = {}
        for part in todo:
            path, begun = out / "runs" / f"{part.name}.parquet", time.monotonic()
            if again:
                path.unlink(missing_ok=True)
            with shown.part(part):
                results[part.name] = part.result(settings, workers, path, shown.say)
            timings[part.name] = round(time.monotonic() - begun, 3)
        content = _compose(settings, results, groups, out, shown, timings)
    _write_json(out / "summary.json", {key: value for key, value in asdict(content).items() if key != "left_open"})
    _write_json(out / "timings.json", timings)
    return content


def _compose(
    settings: Settings, results: dict[str, Any], groups: list[str], out: Path, shown: Progress, timings: dict[str, float]
) -> Content:
    from driftbandits.paper.report import write_report

    begun = time.monotonic()
    with shown.part(_drawing(groups)):
        content = compose.compose(settings, results, groups, out)
        write_report(content, out)
    timings[DRAWING] = round(time.monotonic() - begun, 3)
    return content


def _groups(only: str | None) -> list[str]:
    if only is None:
        return list(compose.SECTIONS)
    if only not in compose.SECTIONS:
        raise InputError(f"unknown name {only!r}; --only takes one of {', '.join(compose.SECTIONS)}")
    return [only]


def _drawing(groups: list[str]) -> Part:
    """Stands for the figures and the report in the progress."""
    return Part(DRAWING, DRAWING, 2.0 * len(groups), lambda settings, workers, path: None)


def _write_json(path: Path, value: Any) -> None:
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
