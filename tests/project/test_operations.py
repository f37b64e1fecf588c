"""The commands of docs/operations.md, run in order as they are printed there."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import systems

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


@systems.signals
@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="needs curl and bash")
def test_operations_word_by_word(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    commands = "\n".join(re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M))
    assert commands.count("8000") >= 4
    script = f"trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nset -e -m\n{commands.replace('8000', port)}"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "DRIFTBANDITS_PORT": port}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr + (tmp_path / "serve.log").read_text()
    for said in ('{"outcome":"new"}', "1 experiments, nothing wrong", 'request_seconds_count{route="ask"} 1.0'):
        assert said in done.stdout
    assert 'driftbandits_arm_asks_total{arm="' in done.stdout
    assert '"path":"/v1/experiments/banner/ask","status":200' in done.stdout
    assert "access-control-allow-origin: https://shop.example" in done.stdout
    assert '"timeout":3600.0' in done.stdout
    assert '"did":"corrected"' in done.stdout
    assert '"decisions":1' in done.stdout  # of the unit that was erased
    assert '"id":"button-3"' in done.stdout  # after the restore
    assert (tmp_path / "button.csv").read_text().splitlines()[1].startswith("button-1,1,")
    assert ",corrected," in (tmp_path / "button.csv").read_text()
