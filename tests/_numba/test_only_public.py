"""The package uses what numba and numpy document, so that a release of either can't break it by surprise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import driftbandits

SOURCE = Path(driftbandits.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
LIBRARIES = ("numba", "numpy")


def private(tree: ast.AST) -> Iterator[str]:
    """What a file uses of numba and numpy that is not public, and other ways around their API."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.Import):
            aliases |= {(each.asname or each.name.split(".")[0]): each.name for each in node.names}
        if isinstance(node, ast.ImportFrom):
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name for name in found if is_private(name))
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("np.void") for base in node.bases):
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            yield from methods & {"__getattribute__"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            chain = ast.unparse(node)
            library, _, rest = chain.partition("(")[0].partition(".")
            if aliases.get(library, "").split(".")[0] in LIBRARIES and is_private(f"{aliases[library]}.{rest}"):
                yield chain


def is_private(name: str) -> bool:
    """Whether a dotted name is none that a library documents."""
    first, *rest = name.split(".")
    if first in ("ctypes", "llvmlite") or name.endswith(".ctypeslib"):
        return True
    hidden = any(part.startswith("_") and not part.endswith("__") for part in rest)
    return first in LIBRARIES and (hidden or name.startswith("numba.core"))


@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(SOURCE)) for file in FILES])
def test_only_public_names_are_used(file: Path) -> None:
    assert not list(private(ast.parse(file.read_text(encoding="utf-8"))))


def test_only_one_subpackage_knows_numba() -> None:
    for file in FILES:
        if file.parent.name != "_numba":
            names = {name for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) for name in imported(node)}
            assert not {name for name in names if name.split(".")[0] == "numba"}, file


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


@pytest.mark.parametrize(
    "line",
    [
        "import ctypes",
        "from numba.core import types",
        "import numba.core.types",
        "import llvmlite.ir",
        "import numba\nnumba.core.errors",
        "import numpy as np\nnp._core",
        "from numba.extending import _Intrinsic",
        "import numpy as np\nclass Row(np.void):\n    def __getattribute__(self, name): ...",
    ],
)
def test_each_way_around_is_noticed(line: str) -> None:
    assert list(private(ast.parse(line)))
