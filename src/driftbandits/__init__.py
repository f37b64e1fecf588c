"""Bandits whose reward means drift slowly: policies, instances, theory and fast simulation.

Names are resolved when they are first used, so that importing the package costs next to nothing. They are listed once:
the policies in ``policies/__init__.pyi``, all others in ``_names.pyi``.
"""

from importlib.util import find_spec
from typing import Any

import lazy_loader

from driftbandits import policies

_other, _, _names = lazy_loader.attach_stub(__name__, f"{__path__[0]}/_names.pyi")

__version__ = "0.1.0"
_public = {*_names, *dir(policies)} - {"make_policy"}
__all__ = sorted(_public - {"Store"} | ({"Store"} if find_spec("sqlalchemy") else set()))
"""``from driftbandits import *`` must not need the extra ``serve``; ``driftbandits.Store`` says that it does."""


def __getattr__(name: str) -> Any:
    if name not in _public:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(policies, name) if name in dir(policies) else _other(name)


def __dir__() -> list[str]:
    return list(__all__)
