"""reproduce(): run every experiment and study of the paper, or what is left of them, and write the report."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from driftbandits._common.checks import check_horizon, check_whole
from driftbandits._common.files import remove_leftovers, written_whole
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.instances.base import HORIZON
from driftbandits.research.paper import compose
from driftbandits.research.paper.plan import NEEDS, parts
from driftbandits.research.report.content import Content
from driftbandits.research.report.parts import Part, Settings
from driftbandits.research.report.progress import progress
from driftbandits.research.report.typesetting import plain


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

    ``only`` names one experiment or study to run and report alone. ``again`` runs finished parts once more, as one
    should after changing the package's code: files know the version that made them, and no more. Numbers depend on
    ``runs``, ``seed`` and ``horizon`` alone, never on ``workers`` or on interruptions. What one call took is in
    timings.json.
    """
    from driftbandits.research.report.page import write_report

    settings = Settings(check_whole("runs", runs, 1), check_whole("seed", seed, 0), check_horizon(horizon, 2))
    workers = None if workers is None else check_whole("workers", workers, 1)
    groups = _groups(only)
    needed = {*groups, *(need for group in groups for need in NEEDS.get(group, ()))}
    todo = [part for part in parts() if part.group in needed]
    timings: dict[str, float] = {}
    remove_leftovers(out, out / "runs", out / "figures")
    _write_json(out / "timings.json", timings)  # a place that cannot be written is found out before the work
    drawing = Part("drawing", "drawing", 1.5, lambda settings, workers, path: None)  # a section; only its time counts
    with warnings.catch_warnings(), progress([*todo, *[drawing] * len(groups)]) as shown:
        # That the printed SnoozeIt cannot snooze is a finding here, not a mistake of the caller.
        warnings.simplefilter("ignore", FeasibilityWarning)
        results = {}
        for part in todo:
            path, begun = out / "runs" / f"{part.name}.parquet", time.monotonic()
            if again and path.exists():
                path.unlink()
            with shown.part(part):
                results[part.name] = part.result(settings, workers, path, shown.say)
            timings[part.name] = round(time.monotonic() - begun, 3)
        begun = time.monotonic()
        content = compose.compose(settings, results, groups, out, lambda: shown.part(drawing))
        write_report(content, out)
        timings["drawing"] = round(time.monotonic() - begun, 3)
    told = {key: value for key, value in asdict(content).items() if key not in ("left_open", "page", "opening")}
    _write_json(out / "summary.json", _in_plain_text(told))
    _write_json(out / "timings.json", timings)
    return content


def _in_plain_text(value: Any) -> Any:
    """The same without the marks around formulas, which are for the page."""
    if isinstance(value, dict):
        return {plain(key): _in_plain_text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_in_plain_text(inner) for inner in value]
    return plain(value) if isinstance(value, str) else value


def _groups(only: str | None) -> list[str]:
    if only is None:
        return list(compose.SECTIONS)
    if only not in compose.SECTIONS:
        raise InputError(f"unknown name {only!r}; --only takes one of {', '.join(compose.SECTIONS)}")
    return [only]


def _write_json(path: Path, value: Any) -> None:
    with written_whole(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
