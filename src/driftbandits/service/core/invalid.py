"""What pydantic found wrong with settings or a request, in one line; commands say it without importing HTTP."""

from __future__ import annotations

from typing import Any

from driftbandits._common.checks import shown

MISSING = "the body is missing: send an object of JSON"
PLAIN = {
    "missing": "is required, and is missing",
    "extra_forbidden": "is no field of this request: the reference at /docs lists them",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
}
"""What pydantic's kinds of errors say here; {…} is taken from the context of the error."""


def explain_invalid(errors: Any) -> str:
    """Pydantic's findings in one line.

    >>> found = {"type": "less_than", "loc": ("body", "count"), "ctx": {"lt": 5}, "input": 7}
    >>> explain_invalid([found])
    'count must be less than 5; got 7'
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
    if found["type"] in PLAIN:
        limits = {name: f"{n:g}" if isinstance(n, float) else n for name, n in found.get("ctx", {}).items()}
        said = PLAIN[found["type"]].format(**limits)
        return f"{where or 'the body'} {said}" + (f"; got {got}" if found["type"] != "missing" else "")
    said = _lowered(found["msg"].removeprefix("Value error, "))  # our own, which may say what it got
    got = "" if "; got " in said else f"; got {got if len(got) < 80 else got[:77] + '...'}"
    return f"{where + ': ' if where else ''}{said}{got}"


def _lowered(said: str) -> str:
    """As the middle of a sentence: its first letter is small, unless its first word is JSON, EOF or URL."""
    return said if said[:2].isupper() else said[0].lower() + said[1:]
