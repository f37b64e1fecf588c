"""Who holds an experiment: a name for this process, and whether the process behind a name still lives."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path

PROC = Path("/proc")


def new_holder() -> str:
    """``host:pid:start:kernel:store``: unique to one Store in one process.

    ``start`` and ``kernel`` are empty where there is no /proc; then a dead holder is noticed only when its lease ends.
    """
    return ":".join((socket.gethostname(), str(os.getpid()), _start(os.getpid()), _kernel(), secrets.token_hex(4)))


def is_dead(holder: str) -> bool:
    """Whether that process ran here and is gone. Of processes elsewhere nothing is known."""
    _, pid, start, kernel, _ = holder.rsplit(":", 4)
    return bool(kernel) and kernel == _kernel() and _start(int(pid)) != start


def _start(pid: int) -> str:
    """When a process began, in ticks since the machine did: another process of the same number began later."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]  # a zombie will never write again


def _kernel() -> str:
    """Where process numbers mean the same: one boot of one machine, and in it one container."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot[:8]}-{(PROC / 'self/ns/pid').readlink().name.strip('pid:[]')}"
    except OSError:
        return ""
