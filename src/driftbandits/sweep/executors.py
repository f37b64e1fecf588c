"""Where tasks run: threads here, or a Dask cluster. The only file that knows of any engine.

Everything else needs a ``concurrent.futures.Executor``, so that another engine is another function like these.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from driftbandits._common.checks import check_whole
from driftbandits._common.extras import needs
from driftbandits._common.threads import cores
from driftbandits.errors import InputError

CONNECT_SECONDS = 10


@dataclass(frozen=True)
class Pool:
    """An executor, how many tasks it can run at once just now, and the exceptions that tell of lost workers."""

    executor: Executor
    slots: Callable[[], int]
    where: str
    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)


@contextmanager
def threads(workers: int | None = None) -> Iterator[Pool]:
    """Threads of this process, as many as there are cores unless given; compiled runs do not hold each other up."""
    count = cores() if workers is None else check_whole("workers", workers, 1)
    with ThreadPoolExecutor(count, thread_name_prefix="sweep") as executor:
        yield Pool(executor, lambda: count, f"on {count} thread{'s' * (count > 1)}")


@contextmanager
def given(executor: Executor, workers: int | None = None) -> Iterator[Pool]:
    """An executor of the caller's, who also shuts it down; ``workers`` says how many tasks it runs at once."""
    own = getattr(executor, "_max_workers", None)
    count = check_whole("workers", workers if workers is not None else own or cores(), 1)
    yield Pool(executor, lambda: count, f"on {type(executor).__name__}")


@contextmanager
def cluster(address: str) -> Iterator[Pool]:
    """The Dask cluster whose scheduler listens at ``address``, such as tcp://host:8786. It goes on when we leave."""
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address} ({_first_line(error)}): start one with `dask scheduler`, and "
            f"workers with `dask worker {address}`"
        ) from None
    with _quiet(), client:
        yield _pool(client, f"on the Dask cluster at {address}")


NO_DASHBOARD: dict[str, Any] = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
"""Without an address Dask would listen at port 8787 of all of the machine's addresses, and warn if it is taken."""


@contextmanager
def local_cluster(workers: int) -> Iterator[Pool]:
    """A Dask cluster of ``workers`` processes on this machine, which ends with the sweep."""
    distributed = _distributed()
    count = check_whole("workers", workers, 1)
    options: dict[str, Any] = {"n_workers": count, "threads_per_worker": 1, "processes": True, "memory_limit": 0}
    with (
        _quiet(),
        distributed.LocalCluster(**options, **NO_DASHBOARD, silence_logs=logging.ERROR) as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        yield _pool(client, f"on a Dask cluster of {count} local process{'es' * (count > 1)}")


def _pool(client: Any, where: str) -> Pool:
    from distributed.scheduler import KilledWorker

    def slots() -> int:
        return sum(client.nthreads().values())

    # Not pure: nothing is gained by looking a task up by a hash of its arguments.
    return Pool(client.get_executor(pure=False), slots, where, (KilledWorker, BrokenExecutor))


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's own log of this process is silent: what is lost, we say once, in our words."""
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _distributed() -> Any:
    with needs("distributed", "a cluster"):
        import distributed
    return distributed


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
