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
        if found["type"] == "json_invalid":
            at = f" at character {found['loc'][-1] + 1}" if found["loc"] else ""  # else it says so itself
            reason = _lowered(found["ctx"]["error"])
            lines.append(f"the body is not JSON ({reason}{at}): look at its quotes, commas and brackets")
            continue
        where = ".".join(str(part) for part in found["loc"] if part != "body")
        got = shown(found.get("input"))
        said = _lowered(found["msg"].removeprefix("Value error, "))  # our own, which may say what it got
        got = "" if "; got " in said else f"; got {got if len(got) < 80 else got[:77] + '...'}"
        lines.append(f"{where + ': ' if where else ''}{said}{got}")
    return "; ".join(lines)


def _lowered(said: str) -> str:
    """As the middle of a sentence: its first letter is small, unless its first word is JSON, EOF or URL."""
    return said if said[:2].isupper() else said[0].lower() + said[1:]
