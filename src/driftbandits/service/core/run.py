"""Serve until told to stop, then drain, snapshot and release."""

from __future__ import annotations

import gc
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import structlog

from driftbandits._common.extras import needs
from driftbandits.errors import InputError
from driftbandits.service.core.connections import with_limits
from driftbandits.service.core.logs import set_up_logs
from driftbandits.service.core.settings import Settings, unknown_settings
from driftbandits.service.http.access import auth_needed, first_token
from driftbandits.service.http.app import create_app
from driftbandits.store import Store

with needs("serve", "the service"):
    import uvicorn

logger = structlog.get_logger("driftbandits.service")
GRACE = 10
"""Seconds that requests under way are given at shutdown."""

SWITCH = 1e-4
"""Seconds after which a busy thread must let another run. With Python's 5 ms a commit to PostgreSQL, a handful of round
trips by a thread of its own, waits that long for the event loop at every one of them."""


def serve(settings: Settings) -> None:
    """Run the service in this process until SIGTERM or SIGINT."""
    set_up_logs(settings.log_level)
    _check_archive(settings.archive)
    with closing(Store(settings.store)) as store:  # wrong settings end here, in one line
        listening = _listen(settings)
        try:
            token = first_token(settings, store)
            auth = auth_needed(settings, store)
        except BaseException:
            listening.close()
            raise
    if token is not None:
        print(f"A token for you, scope admin, shown this once:\n\n    {token}\n", flush=True)
    if unknown := unknown_settings():
        logger.warning("unknown settings", names=unknown)
    port = listening.getsockname()[1]
    host = socket.gethostname() if settings.host in ("0.0.0.0", "::") else settings.host
    url = settings.url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
    settings = settings.model_copy(update={"url": url})
    front = create_app(settings)
    config = uvicorn.Config(
        front,
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        http=with_limits(settings.request_timeout),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        backlog=2048,
    )
    tokens = "needed" if auth else "NOT NEEDED: whoever reaches this port may do everything"
    logger.info("serving", url=url, store=store.url, tokens=tokens)
    server = uvicorn.Server(config)
    front.app.state.stopping = lambda: server.should_exit  # the dashboard's streams would never end by themselves
    with listening, _fit_for_service():
        server.run(sockets=[listening])


@contextmanager
def _fit_for_service() -> Iterator[None]:
    """Threads that take turns often, and little garbage collected; afterwards the interpreter is as it was.

    Sessions hold many small tuples without cycles: to look for cycles in them is wasted, and cost batches dearly. What
    was imported never goes away, and need not be looked at at all.
    """
    switch, thresholds = sys.getswitchinterval(), gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(switch)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def _check_archive(folder: Path | None) -> None:
    """Whether files can be made there: else nothing would be erased, and only a line of the log would say so."""
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise InputError(
                f"cannot write to {folder}: {error.strerror}; choose another folder with --archive, or none"
            ) from None


def _listen(settings: Settings) -> socket.socket:
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        said = str(error.strerror).partition(" (while")[0]  # the address, once more
        raise InputError(
            f"cannot listen on {settings.host}, port {settings.port}: {said}; choose another with --port or --host"
        ) from None
