"""Instances in a worker's memory: kept while cells share them, let go before they are too many."""

from __future__ import annotations

import gc
import weakref

import pytest

import driftbandits as db
from driftbandits.sweep import tasks
from driftbandits.sweep.blocks import Block

HORIZON = 100
BYTES = HORIZON * 2 * 8

built: list[float] = []
references: dict[float, weakref.ref[db.Instance]] = {}


def tracked(mean: float) -> db.Instance:
    """One of mean 1 is ten times as long."""
    instance = db.instances.stationary(10 * HORIZON if mean == 1 else HORIZON, (mean, 0.5))
    built.append(mean)
    references[mean] = weakref.ref(instance)
    return instance


def alive() -> set[float]:
    gc.collect()
    return {mean for mean, instance in references.items() if instance() is not None}


@pytest.mark.parametrize(
    ("used", "room", "kept"),
    [
        ((0.1, 0.1, 0.2, 0.1, 0.3, 0.1, 0.4), 2 * BYTES, {0.3, 0.1, 0.4}),
        ((0.1, 0.1, 0.2, 0.1, 0.3, 0.1, 0.4), 2 * BYTES - 1, {0.1, 0.4}),
        ((0.1, 0.2, 1.0, 0.4), 2 * BYTES, {0.4}),
        ((0.1, 0.2, 1.0, 0.4), 11 * BYTES, {0.2, 1.0, 0.4}),
    ],
)
def test_the_instances_used_last_are_kept(
    used: tuple[float, ...], room: int, kept: set[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until what stays is no larger than the room; then the new one comes on top."""
    monkeypatch.setattr(tasks, "_cache", tasks._InstanceCache())
    monkeypatch.setattr(tasks, "CACHED_BYTES", room)
    grid = {"policy": "RoundRobin", "instance": "tracked", "mean": list(dict.fromkeys(used))}
    cells = {cell.columns["mean"]: cell for cell in db.Sweep(grid, instances={"tracked": {"instance": tracked}}).cells}
    built.clear()  # each was tried when the grid was checked
    references.clear()
    for mean in used:
        number = cells[mean].number
        assert len(tasks.play(tasks.Task("it", (Block(number, 0, 2),), {number: cells[mean]}))) == 1
    assert built == list(cells)
    assert alive() == kept


def test_cells_of_one_instance_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_cache", tasks._InstanceCache())
    grid = {"policy": ["RoundRobin", "UCB1"], "instance": "tracked", "mean": [0.1, 0.2]}
    cells = dict(enumerate(db.Sweep(grid, instances={"tracked": {"instance": tracked}}).cells))
    built.clear()
    played = tasks.play(tasks.Task("it", tuple(Block(number, 0, 3) for number in cells), cells))
    assert len(played) == 4
    assert built == [0.1, 0.2]
    alone = [db.simulate({"it": db.RoundRobin()}, tracked(mean), runs=3, checkpoints=1) for mean in (0.1, 0.2)]
    assert [one.regret.tolist() for one in played[:2]] == [one.regret["it"][:, -1].tolist() for one in alone]
