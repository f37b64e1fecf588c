"""The command line in this process: what a command prints and its exit code, without a second of imports each time."""

from __future__ import annotations

import subprocess
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from driftbandits.cli.main import main


def driftbandits(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run`` of the same command would answer."""
    arguments, out, said, code = [str(word) for word in words], StringIO(), StringIO(), 0
    with chdir(cwd or Path.cwd()), redirect_stdout(out), redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("default")
        try:
            main(arguments)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), said.getvalue())
