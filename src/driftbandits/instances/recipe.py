"""Instances as plain JSON and back: a family and its arguments, or the means themselves."""

from __future__ import annotations

from typing import Any

from driftbandits.errors import InputError
from driftbandits.instances import FAMILIES, Instance
from driftbandits.instances.describe import plain, rich


def describe_instance(instance: Instance) -> dict[str, Any]:
    """An instance as JSON: its family and arguments, or else its means, compressed."""
    named = {} if instance.named_arms is None else {"arms": list(instance.named_arms)}
    if instance.recipe is not None:
        return {"name": instance.name, **instance.recipe, **named}
    there = {} if instance.available is None else {"available": plain(instance.available)}
    limits = {} if instance.reward_range is None else {"reward_range": list(instance.reward_range)}
    return {"name": instance.name, "means": plain(instance.means), **there, **named, **limits}


def build_instance(description: dict[str, Any]) -> Instance:
    """What ``describe_instance`` described."""
    if "means" in description:
        declared = {key: description.get(key) for key in ("arms", "reward_range")}
        there = rich(description.get("available"))
        return Instance(rich(description["means"]), name=description["name"], available=there, **declared)
    if description["family"] not in FAMILIES:
        raise InputError(f"unknown instance family {description['family']!r}; known: {', '.join(sorted(FAMILIES))}")
    made = FAMILIES[description["family"]](**description["arguments"])
    return made.with_arms(description["arms"]) if "arms" in description else made
