"""Runs the code of a Markdown page, and puts what it answered below each block.

A block fenced as ``python`` is run in one namespace a page; what it prints, the value of its last expression and the
figures it made are shown. In a block fenced as ``console``, each line that starts with ``$`` is a command, run by the
shell; in one fenced as ``toml file.toml`` or ``python file.py``, the text becomes that file. A page has a folder of
its own to write to. A block that fails stops the build, unless its page says ``<!-- raises -->`` on the line before it.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import os
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from driftbandits.research.league.report.typesetting import columns

FENCE = re.compile(
    r"^(?P<raises><!-- raises -->\n)?```(?P<kind>\w+)(?: (?P<file>[\w./-]+))?\n(?P<code>.*?)^```\n", re.M | re.S
)
LONGEST = 40
"""Lines of output that a page shows; a block with more is not written for readers."""

TABLE = "<table><thead>"

Show = Callable[[Any], str]


class BlockError(Exception):
    """A block of a page failed, or said too much."""


def run_page(text: str, show: Show) -> str:
    """The page with the output of every block below it. ``show`` answers the Markdown for a matplotlib figure."""
    with _folder(), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        page = _Page(show)
        try:
            return FENCE.sub(page.block, text)
        finally:
            page.end()


def outputs(text: str) -> list[str]:
    """What each ``python`` and ``console`` block of a page answers, without figures: for tests."""
    answers: list[str] = []
    with _folder():
        page = _Page(lambda figure: "")
        try:
            for found in FENCE.finditer(text):
                if found["file"] or found["kind"] not in ("python", "console"):
                    page.block(found)
                else:
                    answers.append(page.answer(found))
        finally:
            page.end()
    return answers


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="page-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)
        path = os.environ.get("PATH", "")
        os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), path))
        try:
            yield
        finally:
            os.environ["PATH"] = path
            sys.path.remove(folder)
            os.chdir(before)
            for name, module in list(sys.modules.items()):  # another page may have a file of the same name
                if (getattr(module, "__file__", None) or "").startswith(folder):
                    del sys.modules[name]


class _Page:
    def __init__(self, show: Show) -> None:
        self.show = show
        self.names: dict[str, Any] = {"__name__": "page"}
        self.figures: list[Any] = []

    def block(self, found: re.Match[str]) -> str:
        source = f"```{found['kind']}\n{found['code']}```\n"
        if found["file"]:
            Path(found["file"]).parent.mkdir(parents=True, exist_ok=True)
            Path(found["file"]).write_text(found["code"], encoding="utf-8")
            return source.replace("\n", f' title="{found["file"]}"\n', 1)
        if found["kind"] not in ("python", "console"):
            return found[0]
        self.figures = []
        answer = self.answer(found)
        if answer.count("\n") > LONGEST:
            raise BlockError(f"{answer.count(chr(10))} lines of output, more than {LONGEST}, from:\n{found['code']}")
        shown = "".join(self.show(figure) for figure in self.figures)
        if found["kind"] == "console":
            return f"```console\n{found['code']}{answer}```\n{shown}"
        said, mark, table = answer.partition(TABLE)
        said = f'\n<pre class="output"><code>{html.escape(said)}</code></pre>\n' if said else ""
        return source + said + (f"\n{mark}{table}\n" if table else "") + shown

    def end(self) -> None:
        """No program outlives the page that started it."""
        for value in self.names.values():
            if isinstance(value, subprocess.Popen) and value.poll() is None:
                value.kill()
                value.wait()

    def answer(self, found: re.Match[str]) -> str:
        raises = found["raises"] is not None
        return (
            self.commands(found["code"], raises) if found["kind"] == "console" else self.python(found["code"], raises)
        )

    def python(self, code: str, raises: bool) -> str:
        output = io.StringIO()
        tree = ast.parse(code)
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        error: Exception | None = None
        with contextlib.redirect_stdout(output):
            try:
                exec(compile(tree, "page", "exec", dont_inherit=True), self.names)
                if isinstance(last, ast.Expr):
                    self.value(eval(compile(ast.Expression(last.value), "page", "eval", dont_inherit=True), self.names))
            except Exception as raised:
                error = raised
        if error is not None and not raises:
            said = "".join(traceback.format_exception(error))
            raise BlockError(f"{said}\nin the block:\n{code}") from error
        if raises and error is None:
            raise BlockError(f"nothing was raised by:\n{code}")
        if error is not None:
            output.write(f"{type(error).__name__}: {error}\n")
        return output.getvalue()

    def value(self, value: Any) -> None:
        """The last line of a block, as a notebook shows it."""
        if hasattr(value, "savefig"):
            self.figures.append(value)
        elif hasattr(value, "get_figure") and hasattr(value.get_figure(), "savefig"):
            self.figures.append(value.get_figure())
        elif isinstance(value, pl.DataFrame):
            print(_table(value))
        elif value is not None:
            print(repr(value))

    def commands(self, code: str, raises: bool) -> str:
        """All lines in one shell, so that one can use what another has set; each answers below the block."""
        lines = [line[2:] for line in code.splitlines() if line.startswith("$ ")]
        environment = {**os.environ, "COLUMNS": "90", "NO_COLOR": "1", "TERM": "dumb"}
        done = subprocess.run(
            "\n".join(lines), shell=True, capture_output=True, text=True, env=environment, timeout=300, check=False
        )
        if (done.returncode != 0) != raises:
            raise BlockError(f"exit code {done.returncode}\n{done.stdout}{done.stderr}\nfrom:\n{code}")
        return "\n".join(line.rstrip() for line in (done.stdout + (done.stderr if raises else "")).splitlines()) + "\n"


def _table(frame: pl.DataFrame) -> str:
    """A data frame as the report shows tables: as many decimals as a column deserves."""
    shown = columns(frame.to_dicts())
    style = {"number": ' style="text-align: right"'}
    head = "".join(f"<th{style.get(column.kind, '')}>{column.title}</th>" for column in shown)
    rows = zip(
        *([f"<td{style.get(column.kind, '')}>{cell}</td>" for cell in column.cells] for column in shown), strict=True
    )
    return (
        TABLE
        + f"<tr>{head}</tr></thead><tbody>"
        + "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
        + "</tbody></table>"
    )
