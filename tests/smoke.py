"""Install a wheel where no clone is, and try it: python tests/smoke.py dist/driftbandits-*.whl (``make package``)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

CONSTRAINTS = Path(__file__).parent.parent / "constraints.txt"
PROGRAM = """
import driftbandits as db
result = db.simulate({"turns": db.RoundRobin(), "AutoTS": db.AutoTS()}, db.instances.toggling(10_000), runs=3)
assert db.instances.clicks(1_000).n_arms == 6, db.play_recorded({"turns": db.RoundRobin()}, "weather", starts=1)
print(db.__version__, "in", db.__file__, *result.summary()["regret"])
assert "site-packages" in db.__file__
"""


def main() -> None:
    wheel = Path(sys.argv[1]).resolve()
    elsewhere = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory(prefix="driftbandits-smoke-", ignore_cleanup_errors=True) as folder:
        venv.create(Path(folder, "venv"), with_pip=True)
        programs = Path(folder, "venv", "Scripts" if sys.platform == "win32" else "bin")

        def run(program: str, *words: str | Path) -> None:
            subprocess.run([programs / program, *words], cwd=folder, env=elsewhere, check=True)

        run("python", "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS, wheel)
        run("driftbandits", "--help")
        run("driftbandits", "recommend")  # from a table that is shipped with the package
        run("python", "-c", PROGRAM)


if __name__ == "__main__":
    main()
