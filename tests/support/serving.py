"""Services as processes of their own, for tests that kill them.

Each is a fork of one process that has everything imported and compiled, and so starts in no time: what a start costs is
not what these tests are about. ``tests/service/test_serve.py`` starts the command itself.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from functools import cache
from pathlib import Path

from ports import free_port
from waiting import wait_until


class Process:
    """``driftbandits serve`` on a port of its own; after a kill, ``start`` it again at the same place."""

    def __init__(self, store: str, **settings: object) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._settings = {"store": store, "port": self.port, "log_level": "error", "auth": False, **settings}
        self.start()

    def start(self) -> None:
        mother = _mother()
        assert mother.stdin
        assert mother.stdout
        mother.stdin.write(json.dumps(self._settings) + "\n")
        mother.stdin.flush()
        self.pid = int(mother.stdout.readline())
        self._ended = False

    @property
    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as response:
                return bool(response.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def wait(self) -> None:
        """Until it answers."""
        wait_until(lambda: self.ready or not self._lives, "the service to answer")
        assert self._lives, "the service ended"

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """At once, with -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Gracefully, as an orchestrator would."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        if not self._ended:  # if it has, its pid may be a stranger's by now
            self.signal(number)
            wait_until(lambda: not self._lives, "the service to end", every=0.002)
            self._ended = True

    @property
    def _lives(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True


@cache
def _mother() -> subprocess.Popen[str]:
    """Lives until its standard input ends, as it does with this process."""
    if sys.platform != "linux":
        import pytest

        pytest.skip("services that are killed are forks of one process, and only Linux forks safely")
    return subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _be_mother() -> None:
    from driftbandits import Session, SnoozeIt
    from driftbandits.service.core.run import serve
    from driftbandits.service.core.settings import Settings

    for policy in (None, SnoozeIt(horizon=100_000, drift=1e-5)):
        session = Session(policy, ["red", "blue"])
        session.tell(session.ask().id, 0.5)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are not waited for
    children = set()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(0)
            settings = json.loads(line)
            if skew := settings.pop("skew", None):
                _jump_by(skew)
            serve(Settings(**settings))
            os._exit(0)
        children.add(pid)
        print(pid, flush=True)
    for pid in children:
        with suppress(ChildProcessError):  # dead for long: its pid may be a stranger's by now
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                os.kill(pid, signal.SIGKILL)


def _jump_by(file: str) -> None:
    """From now on the clock is wrong by as many seconds as that file says, at every look."""
    right = time.time
    time.time = lambda: right() + float(Path(file).read_text() or 0)


if __name__ == "__main__":
    _be_mother()
