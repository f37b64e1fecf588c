"""A figure of a report in all its forms and formats, as files beside the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from driftbandits._common.plotting import save_figure
from driftbandits.research.league.report.content import Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = ("svg", "png", "pdf")


def save_drawing(out: Path, name: str, title: str, caption: str, forms: Mapping[str, Callable[[], Figure]]) -> Drawing:
    """Draw every form of a figure below ``out`` in all formats."""
    stems = {form: f"figures/{name}" if len(forms) == 1 else f"figures/{name}-{form}" for form in forms}
    for form, draw in forms.items():
        figure = draw()
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once, not once a format
        for ending in ENDINGS:
            save_figure(figure, out / f"{stems[form]}.{ending}")
    return Drawing(name, title, caption, stems)
