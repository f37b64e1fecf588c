"""What went wrong in a kernel, in terms of its source: the policy, the kernel, the line, the array, the index.

Compiled code can only say that some index was wrong, and numba's messages are about types. So the failing call is
repeated as plain Python, on a copy of the State, and Python's own error is reported.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import traceback
from pathlib import Path
from typing import Any

import numba
import numpy as np

from driftbandits._common import records
from driftbandits._common.checks import is_ours
from driftbandits._numba.copies import as_plain
from driftbandits._numba.loops import ARM, CHOOSING, DRAWING, NO_ARM, REWARD, select, update
from driftbandits.errors import PolicyError

TRIES = 100
"""How often a choice that failed at random is repeated before we give up."""
_NOT_THEIRS = (str(Path(np.__file__).parent), records.__file__, __file__)
_MACHINERY = tuple(str(Path(file).parent) + os.sep for file in (np.__file__, numba.__file__, __file__))


def kernel_fault(policy: Any, others: Any, state: Any, fault: Any, step: int, error: Exception) -> PolicyError:
    """A kernel raised ``error`` at this step, with the arm and reward of ``fault``."""
    if fault[ARM] == DRAWING:
        name, again = f"{type(others[0]).__name__}.draw", _draw_again(others[0], float(fault[REWARD]))
    elif fault[ARM] == CHOOSING:
        name, again = f"{type(policy).__name__}.select", _select_again(policy, state)
    else:
        name = f"{type(policy).__name__}.update"
        again = _update_again(policy, state, int(fault[ARM]), fault[REWARD])
    if again is None:
        return PolicyError(
            f"{name} failed at step {step:,}: {error}. As plain Python the same call does not fail; "
            "driftbandits.testing.check_policy may tell where it goes wrong"
        )
    return PolicyError(f"{name}, at step {step:,}, {_told(again)}{_where(again)}")


def compile_fault(policy: Any, others: Any, state: Any, error: Exception) -> PolicyError:
    """The kernels can't be compiled. If they fail as Python as well, that is what is told."""
    name = type(policy).__name__
    tried = [(f"{name}.select", _select_again(policy, state)), (f"{name}.update", _update_again(policy, state, 0, 0.5))]
    tried += [(f"{type(other).__name__}.draw", _draw_again(other, 0.5)) for other in others]
    for kernel, again in tried:
        if isinstance(again, PolicyError):  # of select, which returned no arm
            return again
        if again is not None:
            return PolicyError(f"{kernel} {_told(again)}{_where(again)}")
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # numba writes in colours wherever colorama is installed
    if no_arm := re.search(re.escape(NO_ARM) + ".*", text):
        return PolicyError(f"{name}.select {no_arm[0]}")
    name = " or ".join(type(one).__name__ for one in (policy, *others) if not is_ours(type(one))) or name
    cause, where = _numba_says(text)
    return PolicyError(
        f"{name} cannot be compiled, because numba knows only a part of Python: {cause}; {_way_out(cause)}{where}"
    )


def _copied(state: Any) -> Any:
    return type(state)(*(array.copy() for array in state))


def _select_again(policy: Any, state: Any) -> Exception | None:
    plain = as_plain(policy)
    for number in range(TRIES):
        try:
            select(plain, state, np.random.default_rng(number))
        except Exception as error:
            return error
    return None


def _draw_again(noise: Any, mean: float) -> Exception | None:
    plain = as_plain(noise)
    for number in range(TRIES):
        try:
            float(plain.draw(mean, np.random.default_rng(number)))
        except Exception as error:
            return error
    return None


def _update_again(policy: Any, state: Any, arm: int, reward: float) -> Exception | None:
    try:
        update(as_plain(policy), _copied(state), arm, float(reward), np.random.default_rng(0))
    except Exception as error:
        return error
    return None


def _told(error: Exception) -> str:
    out = re.match(r"index (-?\d+) is out of bounds for axis \d+ with size (\d+)", str(error))
    if isinstance(error, IndexError) and out:
        array = _array(_their_frame(error)) or "an array"
        return f"used index {out[1]} of {array}, which has length {out[2]}"
    return f"raised {type(error).__name__}: {error}"


def _their_frame(error: Exception) -> traceback.FrameSummary:
    frames = list(traceback.extract_tb(error.__traceback__))
    theirs = [frame for frame in frames if not frame.filename.startswith(_NOT_THEIRS)]
    return (theirs or frames)[-1]


def _where(error: Exception) -> str:
    frame = _their_frame(error)
    return _place(frame.filename, frame.lineno or 0, frame.line or "")


def _place(file: str, line: int, source: str) -> str:
    return f"\n  {file}, line {line}" + (f":\n    {source.strip()}" if source.strip() else "")


def _array(frame: traceback.FrameSummary) -> str:
    """The expression before the brackets whose index was wrong."""
    line = linecache.getline(frame.filename, frame.lineno or 0)
    start, end = getattr(frame, "colno", None), getattr(frame, "end_colno", None)
    if start is None or end is None or frame.lineno != getattr(frame, "end_lineno", None):
        return ""
    try:
        found = ast.parse(line.encode()[start:end].decode().strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    return ast.unparse(found.value) if isinstance(found, ast.Subscript) else ""


def _numba_says(text: str) -> tuple[str, str]:
    """The cause that numba's message gives at the innermost line of theirs, and that line."""
    found = re.finditer(r'(?m)File "([^"]+)", line (\d+)|^.*\b(?:at|from) (\S.*) \((\d+)\)$', text)
    places = [(match.start(), os.path.abspath(match[1] or match[3]), int(match[2] or match[4])) for match in found]
    places = [place for place in places if not place[1].startswith(_MACHINERY)]
    end, where = len(text), ""
    if places:
        end, file, line = places[0]
        where = _place(file, line, linecache.getline(file, line))
    return _cause(text[: text.find("\n", end) if "\n" in text[end:] else len(text)]), where


def _cause(text: str) -> str:
    """What stands last of a few forms: an error of numba's own, a call that it does not know, or a sentence."""
    text = re.split(r"Failed in nopython mode pipeline.*\n", text)[-1].strip()
    call, said = re.search(r">>> (.+)", text), re.findall(r"specific error:\s+\w+: (.+)", text)
    if call and "Fields(" not in call[1]:  # else it is a kernel itself
        return (f"{call[1]}: {said[-1]}" if said else f"it has no {call[1]}")[:300]
    if said:
        return f"{said[-1]}"[:300]
    first = (text.splitlines() or ["no reason given"])[0]
    return re.split(r"[.,]? (?:Raised from|defined at) ", first)[0].rstrip(".")[:300]


def _way_out(cause: str) -> str:
    if "super" in cause or "__class__" in cause:
        return "to call a method of another class, name that class, as in Other.update(self, state, arm, reward)"
    if re.match(r"Unknown attribute '\w+' of type Fields", cause):
        return (
            "in kernels self has only its fields annotated float, int or bool; a method that kernels call must be a "
            "function outside of the class"
        )
    if "Rng(" in cause:
        return "draw with rng.random(), as in int(rng.random() * n) for one of n"
    return "change that, or drop the base class Policy to run it as plain Python"
