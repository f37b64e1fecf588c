"""The commands of live decisions: serve, and tokens for it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import App

from driftbandits.cli.options import LIVE, Port

if TYPE_CHECKING:
    from driftbandits.store import AuditEntry, Store

token = App(name="token", group=LIVE, help="Tokens that open the service to programs: create, list, revoke.")


def serve(
    *,
    store: str | None = None,
    host: str | None = None,
    port: Port | None = None,
    url: str | None = None,
    auth: bool | None = None,
    root_path: str | None = None,
    keep: str | None = None,
    archive: Path | None = None,
    cors_origin: list[str] | None = None,
    access_log: bool | None = None,
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
    cors_origin
        A site whose pages may call the service from a browser, such as https://shop.example; * is every site. May be
        given several times.
    access_log
        Log each request but health checks, as a line of JSON on standard error.
    log_level
        How much to log; info unless given.
    """
    given: dict[str, Any] = {"store": store, "host": host, "port": port, "url": url, "auth": auth}
    given |= {"root_path": root_path, "keep": keep, "archive": archive, "access_log": access_log}
    given |= {"cors_origin": cors_origin and " ".join(cors_origin), "log_level": log_level}
    from driftbandits.service.core.run import serve

    serve(settings({name: value for name, value in given.items() if value is not None}))


def settings(given: dict[str, Any]) -> Any:
    """Settings from options and environment; what is wrong is one line."""
    from driftbandits._common.extras import needs
    from driftbandits.errors import InputError

    with needs("serve", "the service"):
        from pydantic import ValidationError

        from driftbandits.service.core.invalid import explain_invalid
        from driftbandits.service.core.settings import Settings

    try:
        return Settings(**given)
    except ValidationError as error:
        raise InputError(explain_invalid(error.errors())) from None


@token.command
def create(
    name: str,
    *,
    scope: Literal["read", "write", "admin"] = "write",
    days: float | None = None,
    experiment: list[str] | None = None,
    store: str | None = None,
) -> None:
    """Create a token and print it once: the store holds only its hash.

    Parameters
    ----------
    name
        What it is for; revoke it by this name.
    scope
        read: read everything. write: also ask and tell. admin: also create, change, correct, pause, archive and delete
        experiments.
    days
        After so many days it is refused; never unless given. To rotate, create a new one and revoke the old one.
    experiment
        It is for this experiment only, or for those whose ids begin so, as in "eu-*". May be given several times.
    store
        The store of the service; DRIFTBANDITS_STORE, or sqlite:///driftbandits.db, unless given.
    """
    import time

    from driftbandits.errors import InputError

    if days is not None and not days > 0:
        raise InputError(f"--days must be more than 0, or left out for a token without an end; got {days:g}")
    opened = open_store(store)
    expires = None if days is None else time.time() + 86_400 * days
    audit = by_command("token created", details={"name": name, "scope": scope})
    print(opened.tokens.add(name, scope, expires=expires, experiments=experiment, audit=audit))


@token.command(name="list")
def list_tokens(*, store: str | None = None) -> None:
    """List all tokens, revoked ones too."""
    import polars as pl

    from driftbandits._common.tables import print_table

    opened = open_store(store, existing=True)
    rows = [
        {
            "name": each.name,
            "scope": each.scope,
            "experiments": "all" if each.experiments is None else ", ".join(each.experiments),
            "created": _day(each.created),
            "expires": _day(each.expires),
            "revoked": _day(each.revoked),
        }
        for each in opened.tokens.all()
    ]
    if rows:
        print_table(pl.DataFrame(rows), f"Tokens of {opened.url}", dict.fromkeys(rows[0], ""))
    else:
        print("no tokens; driftbandits token create NAME makes one")


@token.command
def revoke(name: str, *, store: str | None = None) -> None:
    """Revoke a token: services refuse it from some seconds later on.

    Parameters
    ----------
    name
        The token's name.
    store
        The store of the service; DRIFTBANDITS_STORE, or sqlite:///driftbandits.db, unless given.
    """
    opened = open_store(store, existing=True)
    opened.tokens.revoke(name, by_command("token revoked", details={"name": name}))
    print(f"revoked {name}")


def open_store(url: str | None, existing: bool = False) -> Store:
    """The Store of this URL; unless given, that of DRIFTBANDITS_STORE, or sqlite:///driftbandits.db."""
    from driftbandits.store import Store

    return Store(settings({}).store if url is None else url, existing=existing)


def by_command(did: str, experiment: str | None = None, details: Any = None) -> AuditEntry:
    """What a command writes into the audit log."""
    from driftbandits.store import AuditEntry

    return AuditEntry("command line", did, experiment, details)


def sqlite_file(url: str | None) -> Path:
    """The file that such a URL names."""
    from driftbandits.errors import InputError

    url = settings({}).store if url is None else url
    if not url.startswith("sqlite:///") or not url.removeprefix("sqlite:///"):
        raise InputError(
            f"only an SQLite file can be read in parts, as in sqlite:///file.db; got {url.split('@')[-1]!r}"
        )
    return Path(url.removeprefix("sqlite:///"))


def _day(seconds: float | None) -> str:
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
