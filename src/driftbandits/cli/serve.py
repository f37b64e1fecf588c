"""The commands of live decisions: serve, and tokens for it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from cyclopts import App

from driftbandits.cli.options import LIVE, Whole

token = App(name="token", group=LIVE, help="Tokens that open the service to programs: create, list, revoke.")


def serve(
    *,
    store: str | None = None,
    host: str | None = None,
    port: Whole | None = None,
    url: str | None = None,
    auth: bool | None = None,
    root_path: str | None = None,
    keep: str | None = None,
    archive: Path | None = None,
    log_level: Literal["debug", "info", "warning", "error"] | None = None,
) -> None:
    """Serve experiments over HTTP: ask for an arm, tell its reward, see why.

    The dashboard is at /, the API's reference at /docs. Every setting can come from the environment instead:
    DRIFTBANDITS_STORE, DRIFTBANDITS_PORT, ... and there are more of them: see docs/service.md. Stopped with Ctrl-C or
    SIGTERM it finishes what is under way; killed at any moment it loses nothing it has answered.

    Parameters
    ----------
    store
        Where experiments are kept: sqlite:///file.db, or postgresql://user:password@host/name when several machines
        share them. sqlite:///driftbandits.db, in this folder, unless given.
    host
        The address to listen on; 127.0.0.1, this machine alone, unless given. Others need tokens.
    port
        The port; 8000 unless given, 0 for any that is free.
    url
        Where clients reach this service, if not at host and port; told to those who ask another service for an
        experiment held here.
    auth
        Whether requests need a token. They do unless --no-auth is given, which lets everyone on this machine do
        everything. The first start makes a token and prints it.
    root_path
        The path under which a proxy shows the service, such as /bandits.
    keep
        How long events of new experiments are kept, as in 90d or 12h; forever unless given. Each experiment may have
        its own: driftbandits store keep.
    archive
        A folder: what is no longer kept is written to Parquet files there before it is erased.
    log_level
        How much to log; info unless given.
    """
    given: dict[str, Any] = {"store": store, "host": host, "port": port, "url": url, "auth": auth}
    given |= {"root_path": root_path, "keep": keep, "archive": archive, "log_level": log_level}
