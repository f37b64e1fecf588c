"""What pydantic found wrong with settings or a request, in one line; commands say it without importing HTTP."""

from __future__ import annotations

from typing import Any

from driftbandits._common.checks import shown

MISSING = "the body is missing: send an object of JSON"


def explain_invalid(errors: Any) -> str:
    """Pydantic's findings in one line.

    >>> found = {"type": "less_than", "loc": ("body", "count"), "msg": "Input should be less than 5", "input": 7}
    >>> explain_invalid([found])
    'count: input should be less than 5; got 7'
    """
    return "; ".join(_line(found) for found in list(errors)[:5])


def _line(found: Any) -> str:
    if found["type"] == "missing" and found["loc"] == ("body",):
        return MISSING
    if found["type"] == "json_invalid":
        if found["input"] in (b"", ""):
            return MISSING
        at = f" at character {found['loc'][-1] + 1}" if found["loc"] else ""  # else it says so itself
        return f"the body is not JSON ({_lowered(found['ctx']['error'])}{at}): look at its quotes, commas and brackets"
    where = ".".join(str(part) for part in found["loc"] if part != "body")
    got = shown(found.get("input"))
    said = _lowered(found["msg"].removeprefix("Value error, "))  # our own, which may say what it got
    got = "" if "; got " in said else f"; got {got if len(got) < 80 else got[:77] + '...'}"
    return f"{where + ': ' if where else ''}{said}{got}"


def _lowered(said: str) -> str:
    """As the middle of a sentence: its first letter is small, unless its first word is JSON, EOF or URL."""
    return said if said[:2].isupper() else said[0].lower() + said[1:]
