"""Figures show themselves, are written with fonts that publishers take, and stay legible when small or crowded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import driftbandits as db
from colours import EYES, apart, contrast
from driftbandits._common import figure as figure_module
from driftbandits._common import progress
from driftbandits._common.plotting import COLOURS
from driftbandits._common.progress import Bar
from waiting import wait_until

NAMES = [f"policy number {index}" for index in range(22)]


@pytest.fixture(scope="module")
def crowded() -> db.Simulation:
    instance = db.instances.toggling()
    return db.simulate({name: db.RoundRobin() for name in NAMES}, instance, runs=2, checkpoints=5)


@pytest.fixture
def backend() -> Iterator[None]:
    before = mpl.get_backend()
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)


def test_a_notebook_is_given_a_picture_and_its_size() -> None:
    data, size = db.instances.toggling(100).plot(figsize=(4.0, 3.0))._repr_png_()  # type: ignore[attr-defined]
    assert data.startswith(b"\x89PNG")
    assert size == {"width": 440, "height": 330}


def test_show_displays_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    displayed: list[Any] = []
    monkeypatch.setattr(figure_module, "in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", displayed.append)
    figure = db.instances.toggling(100).plot()
    figure.show()
    assert displayed == [figure]


@pytest.mark.usefixtures("backend")
def test_show_opens_a_window_where_there_are_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []

    class Manager(FigureManagerBase):
        def show(self) -> None:
            opened.append(self.canvas.figure)

        @classmethod
        def start_main_loop(cls) -> None:
            opened.append("waits")

    class Canvas(FigureCanvasAgg):
        manager_class = Manager

    windows = ModuleType("windows")
    windows.FigureCanvas = Canvas  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "windows", windows)
    pyplot.switch_backend("module://windows")
    figure = db.instances.toggling(100).plot()
    figure.show()
    assert opened == [figure, "waits"]  # a script would end and close it
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    figure.show()
    assert opened == [figure, "waits", figure]


@pytest.mark.usefixtures("backend")
def test_show_without_windows_says_what_to_do() -> None:
    pyplot.switch_backend("agg")
    with pytest.raises(db.InputError, match=r"no window can be opened here .*savefig"):
        db.instances.toggling(100).plot().show()
    assert not pyplot.get_fignums()


def test_pdfs_have_fonts_that_publishers_take(tmp_path: Path) -> None:
    db.instances.toggling(100).plot().savefig(tmp_path / "it.pdf")
    written = (tmp_path / "it.pdf").read_bytes()
    assert b"/Type3" not in written
    assert b"/CIDFontType2" in written


def boxes(figure: Figure, things: Any) -> list[Any]:
    figure.draw_without_rendering()
    return [thing.get_window_extent() for thing in things]


CASES = [((3.3, 2.6), 2), ((3.3, 2.6), 4), ((3.3, 4.0), 14), ((5.0, 4.0), 4), ((5.0, 4.0), 14), (None, 2), (None, 14)]
CASES += [((3.3, 2.6), 22), ((3.3, 4.0), 22), ((6.4, 3.0), 22), (None, 22)]


@pytest.mark.parametrize(("size", "count"), CASES)
def test_nothing_covers_anything(crowded: db.Simulation, size: Any, count: int) -> None:
    """Ticks don't collide, and a legend outside of the axes covers neither them nor the note."""
    figure = crowded.plot(figsize=size, policies=NAMES[:count])
    (axes,) = figure.axes
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        seen = sorted((box for box in boxes(figure, labels) if box.width > 0), key=lambda box: (box.x0, box.y0))
        assert len(seen) > 1
        assert not any(one.overlaps(other) for one, other in pairwise(seen))
    narrow, many = size is not None and size[0] < 4.2, count > 6
    if narrow or many:
        (legend,) = figure.legends
        (around, ours) = boxes(figure, [legend, axes])
        assert not around.overlaps(ours)
        assert (around.y1 < ours.y0) if narrow else (around.x0 > ours.x1)
        assert around.y0 >= -1
        assert around.y1 <= figure.bbox.y1 + 1
        assert around.x0 >= -1
        assert around.x1 <= figure.bbox.x1 + 1
        assert ours.height > 0.15 * figure.bbox.height
    else:
        assert axes.get_legend() is not None


def test_curves_are_told_apart_and_the_legend_has_their_order_and_values() -> None:
    """Twenty policies: the first arm, which is worse, in a share of the steps that grows with the number."""
    names = [f"number {index}" for index in range(20)]
    policies = {name: db.Oracle([0] * (50 * index) + [1] * 1_000) for index, name in enumerate(names)}
    result = db.simulate(policies, [[0.1, 0.9]] * 1_000, runs=1)
    axes = result.plot().axes[0]
    assert len({line.get_color() for line in axes.get_lines()}) == 20
    for one, other in combinations(COLOURS, 2):
        assert apart(one, other, "all colours") > 0.12
        assert all(apart(one, other, eyes) > 0.028 for eyes in EYES)
    assert all(contrast(colour, "#ffffff") > 2 for colour in COLOURS)
    wanted = [f"number {index}: {40 * index:,.0f}" for index in range(19, -1, -1)]
    assert [text.get_text() for text in result.plot().legends[0].get_texts()] == wanted
    some = result.plot(policies=names[3:6])
    legend: Any = some.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == wanted[14:17]


def test_no_band_of_regret_is_below_zero() -> None:
    """After three steps one run has lost nothing and another much: Student's interval reaches far below 0."""
    result = db.simulate(db.Uniform(), [[0.9, 0.1]] * 3, runs=2, checkpoints=3, seed=2)
    one, other = result.regret["Uniform"][:, -1]
    assert (one + other) / 2 < 12.7 * abs(one - other) / 2
    band = result.plot().axes[0].collections[0].get_paths()[0].vertices
    assert np.asarray(band)[:, 1].min() == 0.0
    assert result.summary()["low"][0] == 0.0


def test_axes_that_are_given(crowded: db.Simulation) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert crowded.instance.plot(ax=left, title="means") is figure
    assert crowded.plot(ax=right, log=True, policies=[NAMES[3]], title="") is figure
    assert (left.get_title(), right.get_title()) == ("means", "")
    assert (right.get_xscale(), right.get_yscale()) == ("log", "log")
    (line,) = right.get_lines()
    whole = crowded.plot().axes[0].get_lines()[3]
    assert line.get_color() == whole.get_color()  # whichever others are shown
    for options, words in (
        ({"ax": right, "figsize": (3, 3)}, "give one of them"),
        ({"ax": "right"}, "ax must be axes"),
        ({"figsize": 3.3}, "figsize must be width and height"),
        ({"log": "z"}, "log must be True"),
        ({"policies": ["nobody"]}, "no policy is called 'nobody'"),
        ({"policies": []}, "at least one policy"),
    ):
        with pytest.raises(db.InputError, match=words):
            crowded.plot(**options)


def test_an_interactive_figure_has_a_curve_and_a_band_for_each_policy(crowded: db.Simulation) -> None:
    figure = crowded.plot_interactive("realised", policies=NAMES[2:4])
    assert [trace.name for trace in figure.data if trace.name] == NAMES[2:4]
    assert len(figure.data) == 4
    np.testing.assert_allclose(figure.data[0].y, crowded.realised[NAMES[2]].mean(axis=0))


def test_progress_in_a_notebook_needs_no_widgets_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    class Handle:
        def update(self, html: Any) -> None:
            drawn.append(html.data)

    def display(html: Any, display_id: bool) -> Handle:
        drawn.append(html.data)
        return Handle()

    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(progress, "REFRESH", 0.001)
    monkeypatch.setattr("IPython.display.display", display)
    with progress.bars(lambda: [Bar("a < b", 1, 4, 75.0)]):
        wait_until(lambda: len(drawn) > 2, "three pictures")
    assert drawn[0].startswith('<div>a &lt; b <progress value="1" max="4">')
    assert drawn[-1] == ""
    drawn.clear()
    with progress.bars(list):  # nothing to say yet
        pass
    with progress.bars(lambda: [Bar("it", 1, 4, 75.0)], wanted=False):
        pass
    assert drawn == []
