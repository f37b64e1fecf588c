"""What went wrong in a kernel, in terms of its source: the policy, the kernel, the line, the array, the index.

Compiled code can only say that some index was wrong, and numba's messages are about types. So the failing call is
repeated as plain Python, on a copy of the State, and Python's own error is reported.
"""

from __future__ import annotations

import ast
import linecache
import re
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from driftbandits._compile.kernels import ARM, NO_ARM, REWARD, is_ours, select
from driftbandits._compile.loops import CHOOSING, DRAWING
from driftbandits.errors import PolicyError

TRIES = 100
"""How often a choice that failed at random is repeated before we give up."""
_NOT_THEIRS = (str(Path(np.__file__).parent), __file__)


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
        f"{name} cannot be compiled, because numba knows only a part of Python: {cause}{where}; change "
        "that, or drop the base class Policy to run it as plain Python"
    )


def _copied(state: Any) -> Any:
    return type(state)(*(array.copy() for array in state))


def _select_again(policy: Any, state: Any) -> Exception | None:
    for number in range(TRIES):
        try:
            select(policy, state, np.random.default_rng(number))
        except Exception as error:
            return error
    return None


def _draw_again(noise: Any, mean: float) -> Exception | None:
    for number in range(TRIES):
        try:
            float(noise.draw(mean, np.random.default_rng(number)))
        except Exception as error:
            return error
    return None


def _update_again(policy: Any, state: Any, arm: int, reward: float) -> Exception | None:
    try:
        policy.update(_copied(state), arm, float(reward))
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
    """The innermost cause of numba's message, and the last line of theirs that it names."""
    package = str(Path(__file__).parent)
    places = [
        (match.start(), match[1], int(match[2]), match[3])
        for match in re.finditer(r'File "([^"]+)", line (\d+):\n(?:.*\n)*?\s*(?:<source elided>\n)?(.*)', text)
        if not match[1].startswith(package) and package.split("/")[-1] + "/" not in match[1]
    ]
    end = places[-1][0] if places else len(text)
    lines = [line.strip() for line in text[:end].splitlines() if line.strip()]
    telling = [
        line
        for line in lines
        if not re.match(
            r"(During|File|Overload|With arg|Rejected|There are|Of which|raised from|- |>>>|Failed in|\^)", line
        )
    ]
    cause = (telling or lines or ["no reason given"])[-1]
    return (cause[:300], _place(*places[-1][1:]) if places else "")
