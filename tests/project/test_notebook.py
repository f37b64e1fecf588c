"""examples/first_hour.ipynb, executed: every figure is a picture, and nothing fails, warns or fills the screen."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from PIL import Image

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_hour.ipynb"
MOST_LINES = 60


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_cell_runs_and_every_figure_is_a_picture(tmp_path: Path) -> None:
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.outputs or cell.execution_count for cell in code_cells(notebook))  # kept without outputs
    client = NotebookClient(
        notebook,
        timeout=600,
        resources={"metadata": {"path": str(tmp_path)}},
        extra_arguments=["--log-level=CRITICAL"],
    )
    client.execute()
    for cell in code_cells(notebook):
        told = [output for output in cell.outputs if output.output_type == "stream"]
        assert not [output.text for output in told if output.name == "stderr"], cell.source
        shown = [output.data for output in cell.outputs if "data" in output]
        text = "".join(output.text for output in told) + "".join(data.get("text/plain", "") for data in shown)
        assert text.count("\n") <= MOST_LINES, cell.source
        last = cell.source.splitlines()[-1]
        if "plot(" in last or "plt.show" in last:
            (picture,) = [data["image/png"] for data in shown if "image/png" in data]
            pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB"))
            assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20, cell.source  # not blank
        elif last in ("result", "mine", "session", "play", "sweep", "replayed", "several[0]"):
            assert "<table" in shown[-1]["text/html"], cell.source
        elif "plot_interactive" in cell.source:
            assert "application/vnd.plotly.v1+json" in shown[-1]


def test_without_plotly_the_figure_is_drawn_by_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of that name stands in the way, which is as if there were none."""
    (tmp_path / "hidden" / "plotly").mkdir(parents=True)
    (tmp_path / "hidden" / "plotly" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'plotly'\", name='plotly')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hidden"))
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    needed = ("import driftbandits", "mine = db.Instance", "own = db.simulate", "own.plot_interactive")
    notebook.cells = [cell for cell in code_cells(notebook) if any(each in cell.source for each in needed)]
    assert len(notebook.cells) == 4
    NotebookClient(notebook, timeout=600, extra_arguments=["--log-level=CRITICAL"]).execute()
    assert "image/png" in notebook.cells[-1].outputs[-1].data
