"""Instances as plain JSON and back: a family and its arguments, or the means themselves."""

from __future__ import annotations

from typing import Any

from driftbandits._compile.recipe import plain, rich
from driftbandits.errors import InputError
from driftbandits.instances import FAMILIES, Instance


def describe_instance(instance: Instance) -> dict[str, Any]:
    """An instance as JSON: its family and arguments, or else its means, compressed."""
    if instance.recipe is not None:
        return {"name": instance.name, **instance.recipe}
    return {"name": instance.name, "means": plain(instance.means)}


def build_instance(description: dict[str, Any]) -> Instance:
    """What ``describe_instance`` described."""
    if "means" in description:
        return Instance(rich(description["means"]), name=description["name"])
    if description["family"] not in FAMILIES:
        raise InputError(f"unknown instance family {description['family']!r}; known: {', '.join(sorted(FAMILIES))}")
    return FAMILIES[description["family"]](**description["arguments"])
