"""Requests at their limits, and just beyond: numbers and lengths that clients rely on are written out here."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from driftbandits.service.http import models

NEW = {"id": "a", "arms": ["red"]}
TELL = {"id": "a-1", "reward": 0.0}
CORRECTION = {"id": "a-1", "reward": 0.0}
SECONDS = [1e-3, 1e100], [0.999e-3, 0.0, -1.0, 1.01e100, float("inf"), float("nan"), "60"]
SHARES = [0.0, 1.0], [-0.001, 1.001, float("nan"), "0.1"]
REWARDS = [-1e100, 1e100, 0], [-1.01e100, 1.01e100, float("inf"), float("nan"), True, "1"]
NAMES = ["x", "x" * 200], ["", "x" * 201, 1]

FIELDS: list[tuple[Any, dict[str, Any], str, tuple[list[Any], list[Any]]]] = [
    (models.NewExperiment, NEW, "id", (["a", "A-9_", "x" * 64], ["", "x" * 65, "-a", "_a", "a b", "ä"])),
    (models.NewExperiment, NEW, "arms", ([["x"], ["x"] * 1000], [[], ["x"] * 1001, [""], ["x" * 201]])),
    (models.NewExperiment, NEW, "title", (["", "x" * 200], ["x" * 201, "a\x00b"])),
    (models.NewExperiment, NEW, "seed", ([0, 2**64 - 1], [-1, 2**64, 0.5, "1"])),
    (models.NewExperiment, NEW, "explore", SHARES),
    (models.NewExperiment, NEW, "drift", SHARES),
    (models.NewExperiment, NEW, "timeout", SECONDS),
    (models.NewExperiment, NEW, "sticky", SECONDS),
    (models.NewExperiment, NEW, "keep", ([3_600, 1e100], [3_599.9, 1.01e100, "90d"])),
    (models.NewExperiment, NEW, "default_reward", REWARDS),
    (models.NewExperiment, NEW, "reward_range", ([[-1e100, 1e100]], [[0.0], [0.0, 1.0, 2.0], [0.0, 1.01e100]])),
    (models.Changes, {}, "title", (["", "x" * 200], ["x" * 201, "\x00"])),
    (models.Changes, {}, "explore", SHARES),
    (models.Changes, {}, "drift", SHARES),
    (models.Changes, {}, "timeout", SECONDS),
    (models.Changes, {}, "sticky", SECONDS),
    (models.Changes, {}, "keep", ([3_600, 1e100], [3_599.9, 1.01e100])),
    (models.Changes, {}, "default_reward", REWARDS),
    (models.NewArm, {}, "arm", NAMES),
    (models.Arm, {"status": "on"}, "arm", NAMES),
    (models.Arm, {"arm": "x"}, "status", (["on", "off", "removed"], ["", "On", None])),
    (models.Force, {}, "arm", ([*NAMES[0], None], NAMES[1])),
    (models.HoldOut, {"share": 0.1}, "arm", ([*NAMES[0], None], NAMES[1])),
    (models.HoldOut, {}, "share", SHARES),
    (models.Correction, CORRECTION, "id", (["", "x" * 100], ["x" * 101])),
    (models.Correction, CORRECTION, "reward", ([*REWARDS[0], None], REWARDS[1])),
    (models.Corrections, {}, "corrections", ([[CORRECTION], [CORRECTION] * 10_000], [[], [CORRECTION] * 10_001])),
    (models.Ask, {}, "unit", (["x", "x" * 200, None], ["", "x" * 201])),
    (models.AskMany, {}, "count", ([1, 10_001], [0, -1, 1.5])),
    (models.AskMany, {"count": 1}, "units", ([["x", None, "x" * 200]], [[""], ["x" * 201]])),
    (models.Erase, {}, "unit", (["x", "x" * 200], ["", "x" * 201, None])),
    (models.Tell, TELL, "id", (["", "x" * 100], ["x" * 101])),
    (models.Tell, TELL, "reward", (REWARDS[0], [*REWARDS[1], None])),
    (models.TellMany, {}, "rewards", ([[TELL]], [[]])),
]


@pytest.mark.parametrize(("model", "others", "field", "values"), FIELDS, ids=lambda each: getattr(each, "__name__", ""))
def test_fields_at_their_limits(
    model: Any, others: dict[str, Any], field: str, values: tuple[list[Any], list[Any]]
) -> None:
    adapter, (taken, refused) = TypeAdapter(model), values
    for value in taken:
        adapter.validate_json(adapter.dump_json(adapter.validate_python({**others, field: value})))
    for value in refused:
        with pytest.raises(ValidationError, match=field):
            adapter.validate_python({**others, field: value})


def test_what_an_experiment_is_unless_declared() -> None:
    assert models.NewExperiment(id="a", arms=["red"]).model_dump() == {
        **NEW,
        "title": "",
        "policy": "BreakEven",
        "policy_settings": {},
        "seed": 0,
        "timeout": 86_400.0,
        "default_reward": 0.0,
        "reward_range": None,
        "explore": 0.0,
        "sticky": None,
        "late": False,
        "drift": None,
        "keep": None,
    }
