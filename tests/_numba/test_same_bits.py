"""Compiled and interpreted kernels give the same bits: by rules for how they are written, and as they are played."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numba
import numpy as np
import pytest

import driftbandits as db
from driftbandits._numba.compiled import kernels_of
from driftbandits._numba.digest import is_foreign, reached
from driftbandits.policies import POLICIES
from driftbandits.simulation.engine import Job

NOISES = (db.Gaussian, db.Bernoulli, db.Bounded)
OWNERS: list[Any] = [*POLICIES.values(), *NOISES]
WRONG = {"math.hypot", "math.gamma", "math.lgamma", "np.exp", "np.log", "np.log1p", "np.tanh", "np.power", "np.hypot"}
"""Functions that numba computes otherwise than Python or numpy does."""


def breaches(tree: ast.AST) -> Iterator[str]:
    """Expressions whose last bit may depend on whether they are compiled."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            known = [isinstance(side, ast.Constant) for side in (node.left, node.right)]
            if known == [False, True]:
                yield ast.unparse(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Pow) and isinstance(node.value, ast.Constant):
            yield ast.unparse(node)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in WRONG:
            yield ast.unparse(node)


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.__name__)
def test_kernels_keep_to_the_rules(owner: Any) -> None:
    for function in reached(kernels_of(owner).values()):
        if isinstance(function, FunctionType) and not is_foreign(function.__module__):
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
            assert not list(breaches(tree)), function.__qualname__


@pytest.mark.parametrize("line", ["x**2", "x**0.5", "x **= 2", "math.hypot(x, y)", "np.exp(x)"])
def test_each_breach_is_noticed(line: str) -> None:
    assert list(breaches(ast.parse(line)))


def _same(x: float, y: float) -> tuple[float, ...]:
    return math.log(x), math.exp(-x), math.sqrt(x), math.sin(x), math.erf(x), x**y, math.log1p(x), math.expm1(-x)


def test_numba_and_python_agree_on_what_the_rules_allow() -> None:
    compiled = numba.njit(_same)
    for x, y in np.random.default_rng(0).uniform(1e-3, 9.0, (20_000, 2)).tolist():
        assert compiled(x, y) == _same(x, y)


@pytest.mark.parametrize("name", ["UCB1", "SnoozeIt", "AutoTS", "BOB", "ThompsonSampling", "Rexp3"])
def test_compiled_checked_and_interpreted_play_the_same(name: str) -> None:
    instance = db.instances.sinusoid(1_500, 1 / 480, 2)
    policy = db.policies.make_policy(name, instance)
    noise = db.Bernoulli() if policy.rewards.rescaled else db.Gaussian(0.5)
    found = []
    for mode in ("interpreted", "checked", "compiled"):
        run = Job(policy, instance, noise, np.array([1_500]), 7, mode=mode).play(0, lambda steps: True)
        assert run is not None
        found.append((run.regret.tolist(), run.realised.tolist(), run.pulls.tolist()))
    assert found[0] == found[1] == found[2]
