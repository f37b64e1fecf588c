"""Bandits whose reward means drift slowly: policies, instances, theory and fast simulation.

Names are resolved when they are first used, so that importing the package costs next to nothing. They are listed once:
the policies in ``policies/__init__.pyi``, all others in ``_names.pyi``.
"""

from functools import cache
from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    policies, find, others = _lists()
    if name in others:
        return find(name)
    if name not in dir(policies) or name == "make_policy":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(policies, name)  # the next time Python finds it by itself
    return found


def __dir__() -> list[str]:
    """All public names; not Store where its extra is missing, so that ``import *`` does not need it."""
    from importlib.util import find_spec

    policies, _, others = _lists()
    public = {*others, *dir(policies)} - {"make_policy"}
    return sorted(public if find_spec("sqlalchemy") else public - {"Store"})


@cache
def _lists() -> Any:
    """The policies, and how to find all other names; read when a name is first used."""
    import lazy_loader

    find, _, others = lazy_loader.attach_stub(__name__, f"{__path__[0]}/_names.pyi")
    return import_module("driftbandits.policies"), find, others
