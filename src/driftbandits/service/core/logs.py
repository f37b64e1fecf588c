"""Structured logs: for people on a terminal, JSON otherwise."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from typing import TextIO

import structlog

from driftbandits.errors import InputError

QUIET = 10.0
"""Seconds between two lines that say the same."""
_said: dict[str, tuple[float, int]] = {}


def rarely(event: str, **about: str) -> None:
    """A warning that may come with every request: said once in some seconds, with how often it came meanwhile."""
    now = time.monotonic()
    said, since = _said.get(event, (-QUIET, 0))
    if now - said < QUIET:
        _said[event] = said, since + 1
        return
    _said[event] = now, 0
    structlog.get_logger("driftbandits.service").warning(event, **about, **({"and_before": since} if since else {}))


def _log_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning of Python's, as a line like any other."""
    log = structlog.get_logger("driftbandits.service")
    log.warning(" ".join(str(message).split()), category=category.__name__, where=f"{filename}:{lineno}")


def set_up_logs(level: str) -> None:
    """Send everything, also what libraries log and Python warns of, to standard error."""
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise InputError(f"log level must be debug, info, warning or error; got {level!r}")
    shared: list[structlog.types.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    people = sys.stderr.isatty()
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer() if people else structlog.processors.JSONRenderer()
    )
    if not people:
        shared.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(renderer, foreign_pre_chain=shared))
    warnings.showwarning = _log_warning
    logging.basicConfig(handlers=[handler], level=max(number, logging.INFO), force=True)
    for library in ("uvicorn", "alembic"):
        logging.getLogger(library).setLevel(logging.WARNING)
