"""The headers of a request by their names, made once for all who look at them."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Scope

KEPT = "driftbandits.headers"


def headers_of(scope: Scope) -> Mapping[bytes, bytes]:
    """By name, in small letters; the first of each name counts."""
    found: dict[bytes, bytes] | None = scope.get(KEPT)
    if found is None:
        found = scope[KEPT] = dict(reversed(scope["headers"]))
    return found
