"""The commands of docs/operations.md, run in order as they are printed there."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from select import select
from subprocess import PIPE

import pytest

import systems
from ports import free_port
from waiting import INTERPRETED, PATIENCE, group

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


@systems.signals
@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="needs curl and bash")
def test_operations_word_by_word(tmp_path: Path) -> None:
    port = str(free_port())
    commands = "\n".join(re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M))
    assert commands.count("8000") >= 4
    script = f"set -e\n{commands.replace('8000', port)}"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Twelve processes would compile a policy, or read it, for the one Decision that each makes at most.
    environment = INTERPRETED | {"PATH": path, "DRIFTBANDITS_PORT": port}
    with group(["bash", "-c", script], cwd=tmp_path, env=environment, stdout=PIPE, stderr=PIPE) as running:
        printed, errors = running.communicate(timeout=600)
    assert running.returncode == 0, printed + errors + (tmp_path / "serve.log").read_text()
    for said in ('{"outcome":"new"}', "1 experiments, nothing wrong", 'request_seconds_count{route="ask"} 1.0'):
        assert said in printed
    assert 'driftbandits_arm_asks_total{arm="' in printed
    assert '"path":"/v1/experiments/banner/ask","status":200' in printed
    assert "access-control-allow-origin: https://shop.example" in printed
    assert '"timeout":3600.0' in printed
    assert '"did":"corrected"' in printed
    assert '"decisions":1' in printed  # of the unit that was erased
    assert '"id":"button-3"' in printed  # after the restore
    assert (tmp_path / "button.csv").read_text().splitlines()[1].startswith("button-1,1,")
    assert ",corrected," in (tmp_path / "button.csv").read_text()


@systems.signals
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_commands_that_are_given_up_leave_nothing_running() -> None:
    script = "sleep 900 & echo begun; wait"
    with suppress(KeyboardInterrupt), group(["bash", "-c", script], stdout=PIPE) as running:
        assert running.stdout
        assert running.stdout.readline() == "begun\n"
        ended = os.dup(running.stdout.fileno())
        raise KeyboardInterrupt
    assert select([ended], [], [], PATIENCE)[0], "what it started in the background is still there"
    assert os.read(ended, 1) == b""
    os.close(ended)
