"""No cycle of imports: strongly connected components of modules, and of the folders within a package, are counted.

All imports count, wherever they stand: at the top of a file, in a function, or for type checkers alone. Whoever reads
one file of a cycle must read them all. ``KNOWN`` lists the components that are still there; it may only shrink.
"""

from __future__ import annotations

import grimp
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

Edges = set[tuple[str, str]]

KNOWN = [
    {
        "live.arms",
        "live.clocks",
        "live.eras",
        "live.explanation",
        "live.fold",
        "live.late",
        "live.lift",
        "live.outcomes",
        "live.session",
        "live.settings",
        "live.shown",
        "live.snapshots",
        "live.units",
    },
    {"policies._parts", "policies.base"},
    {"service.core", "service.dashboard", "service.http"},
    {"simulation.figures", "simulation.result", "simulation.simulate"},
]


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("driftbandits", cache_dir=None)


def components(edges: Edges) -> list[set[str]]:
    """The strongly connected components of more than one node."""
    names = sorted({name for edge in edges for name in edge})
    place = {name: number for number, name in enumerate(names)}
    rows, columns = zip(*((place[one], place[other]) for one, other in edges), strict=True)
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(names), len(names)))
    _, labels = connected_components(graph, directed=True, connection="strong")
    found = [{names[at] for at in np.flatnonzero(labels == label)} for label in np.unique(labels)]
    return [each for each in found if len(each) > 1]


def of_modules(graph: grimp.ImportGraph) -> Edges:
    """Which module imports which."""
    return {(one, other) for one in graph.modules for other in graph.find_modules_directly_imported_by(one)}


def of_folders(graph: grimp.ImportGraph) -> Edges:
    """Which file or folder of a package imports which other of the same package."""
    edges = Edges()
    for one, other in of_modules(graph):
        here, there = one.split("."), other.split(".")
        level = next((at for at, pair in enumerate(zip(here, there, strict=False)) if pair[0] != pair[1]), None)
        if level is not None:  # else one is a package and the other is in it
            edges.add((".".join(here[: level + 1]), ".".join(there[: level + 1])))
    return edges


def test_there_are_no_new_cycles(imports: grimp.ImportGraph) -> None:
    found = components(of_modules(imports)) + components(of_folders(imports))
    short = {frozenset(name.removeprefix("driftbandits.") for name in each) for each in found}
    assert short == set(map(frozenset, KNOWN)), "break a new cycle; take one that is gone, or smaller, out of KNOWN"


def test_cycles_are_found() -> None:
    assert components({("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")}) == [{"b", "c"}]
    assert components({("a", "b"), ("b", "c")}) == []
