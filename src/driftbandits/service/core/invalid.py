"""What pydantic found wrong with settings or a request, in one line; commands say it without importing HTTP."""

from __future__ import annotations

from typing import Any

from driftbandits._common.checks import shown


def explain_invalid(errors: Any) -> str:
    """Pydantic's findings in one line.

    >>> explain_invalid([{"loc": ("body", "count"), "msg": "Input should be less than 5", "input": 7}])
    'count: input should be less than 5; got 7'
    """
    lines = []
    for found in list(errors)[:5]:
        where = ".".join(str(part) for part in found["loc"] if part != "body")
        got = shown(found.get("input"))
        said = found["msg"].removeprefix("Value error, ")  # our own, which may say what it got
        said = said[0].lower() + said[1:]
        got = "" if "; got " in said else f"; got {got if len(got) < 80 else got[:77] + '...'}"
        lines.append(f"{where + ': ' if where else ''}{said}{got}")
    return "; ".join(lines)
