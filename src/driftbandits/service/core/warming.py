"""The default policy is compiled before anyone asks: by a thread at the start, or when an image is built."""

from __future__ import annotations

import threading
import time

import structlog

from driftbandits.policies.registry import DEFAULT

log = structlog.get_logger("driftbandits.service")


def compile_default() -> None:
    """Do once all that a request can make the default policy do. What is compiled stays on disk, for the next start."""
    from driftbandits.live.session import Session

    session = Session(arms=["red", "blue"])
    for decision in (session.ask(), *session.ask_many(2)):
        session.tell(decision.id, 0.5)
    session.explain(session.ask().id)
    session.policy.belief(session.state)


class Warming:
    """Compiles in the background; ``done`` is soon so where it was done before."""

    def __init__(self) -> None:
        self.done = False
        threading.Thread(target=self._run, daemon=True, name="warming").start()

    def _run(self) -> None:
        began = time.monotonic()
        try:
            compile_default()
        except Exception:
            log.exception("the default policy could not be compiled")  # whoever asks first will be told
        self.done = True
        if (took := time.monotonic() - began) > 1.0:
            log.info("compiled", policy=DEFAULT, seconds=round(took, 1))
