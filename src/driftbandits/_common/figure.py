"""A figure that shows itself: as the last line of a notebook's cell, and by ``show``; no state of pyplot needed."""

from __future__ import annotations

import io
import sys
from typing import Any

import matplotlib as mpl
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.figure import Figure

from driftbandits._common.notebook import in_notebook
from driftbandits.errors import InputError

FILES: Any = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "driftbandits"}
"""How figures are written: publishers refuse the Type 3 fonts that matplotlib puts in PDFs unless told otherwise."""
SHARP = 2
"""Pixels of the picture for each pixel of the page, in each direction: sharp on screens of high density."""


class ShownFigure(Figure):
    """A matplotlib Figure without pyplot that a notebook can display and that can open its own window."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and its size on the page."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=SHARP * self.dpi)
        width, height = self.get_size_inches() * self.dpi
        return buffer.getvalue(), {"width": round(width), "height": round(height)}

    def savefig(self, fname: Any, *, transparent: bool | None = None, **options: Any) -> None:
        """matplotlib's own, with fonts that publishers take (Type 42)."""
        with mpl.rc_context(FILES):
            super().savefig(fname, transparent=transparent, **options)

    def show(self, warn: bool = True) -> None:
        """Display the figure in a notebook, or in a window of matplotlib's backend."""
        if in_notebook():
            from IPython.display import display

            display(self)
            return
        from matplotlib import pyplot

        if self.canvas.manager is None:
            adopt: Any = lambda *_, **__: self  # noqa: E731 - stands for a class: pyplot's window is for this figure
            pyplot.figure(FigureClass=adopt)
        manager: Any = type(self.canvas.manager)
        if manager.show is FigureManagerBase.show:
            pyplot.close(self)
            raise InputError(
                f"no window can be opened here (matplotlib's backend is {mpl.get_backend()}): save the figure, as in "
                'figure.savefig("figure.png")'
            )
        if hasattr(sys, "ps1"):
            super().show(warn)
        else:
            pyplot.show()  # waits, since a script would end and close the window
