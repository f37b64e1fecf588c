"""The commands that read a Store; as in ``cli``, each imports what it needs when it runs."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from driftbandits.cli.serve import by_command, open_store, sqlite_file

store = App(name="store", help="Upkeep of a Store: check, repair, backup, keep, prune, compact, erase, delete.")

StoreURL = Annotated[str | None, Parameter(name="--store")]


def experiments(*, store: StoreURL = None) -> None:
    """List the experiments of a Store.

    For example: driftbandits experiments --store sqlite:///file.db

    Parameters
    ----------
    store
        Where they are kept: sqlite:///file.db or postgresql://user:password@host/name. DRIFTBANDITS_STORE, or
        sqlite:///driftbandits.db, unless given.
    """
    from datetime import UTC, datetime

    import polars as pl

    from driftbandits._common.tables import print_table

    opened = open_store(store, existing=True)
    found = opened.experiments.all()
    if not found:
        print(f"no experiments in {opened.url}")
        return
    rows = [
        {
            "id": each.id,
            "status": each.status,
            "policy": each.policy["class"],
            "arms": len(each.arms),
            "events": each.last_seq,
            "created": datetime.fromtimestamp(each.created, UTC).strftime("%Y-%m-%d %H:%M"),
            "writer": (each.holder or "").split(":")[0],
        }
        for each in found
    ]
    formats = dict.fromkeys(("id", "status", "policy"), "") | {"arms": "", "events": ",", "created": "", "writer": ""}
    print_table(pl.DataFrame(rows), opened.url, formats, caption="created in UTC; writer: the machine that writes now")


def export(id: str, file: Path, *, since: int = 0, store: StoreURL = None) -> None:
    """Write an experiment's log to a file, one row for each Decision.

    For example: driftbandits export button button.parquet --store sqlite:///file.db

    Parameters
    ----------
    id
        The experiment; ``driftbandits experiments`` lists them.
    file
        Ends in .parquet, .csv or .jsonl. It appears when it is complete.
    since
        Only Decisions that were asked, closed or corrected after this event: the number that the last export printed.
    store
        Where it is kept: sqlite:///file.db or postgresql://user:password@host/name. DRIFTBANDITS_STORE, or
        sqlite:///driftbandits.db, unless given.
    """
    from rich.console import Console
    from rich.progress import Progress

    opened, console = open_store(store, existing=True), Console(stderr=True)
    last = opened.experiments.get(id).last_seq
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("exporting", total=last / 2)
        rows = opened.history.export(id, file, lambda done: bar.update(task, completed=done), since=since)
    print(f"wrote {rows:,} Decisions to {file}")
    if rows and not _has_probabilities(file):
        print("no row has a probability, which replay needs: explore=0.1 logs it for Decisions to come")
    print(f"to go on: --since {last}")


def _has_probabilities(file: Path) -> bool:
    """Whether the probability of any choice was logged."""
    import polars as pl

    kind = {"probability": pl.Float64}
    if file.suffix == ".parquet":
        table = pl.scan_parquet(file, glob=False)
    elif file.suffix == ".csv":
        table = pl.scan_csv(file, glob=False, schema_overrides=kind)
    else:
        table = pl.scan_ndjson(glob.escape(str(file)), schema_overrides=kind)
    return bool(table.select(pl.col("probability").is_not_null().any()).collect(engine="streaming").item())


@store.command(name="check")
def check_store(*, store: StoreURL = None) -> None:
    """Read everything, and say what is wrong: damage, gaps in a log, a log that cannot be folded. Exits with 1 then.

    Parameters
    ----------
    store
        Where it is kept: sqlite:///file.db or postgresql://user:password@host/name. DRIFTBANDITS_STORE, or
        sqlite:///driftbandits.db, unless given.
    """
    opened = open_store(store, existing=True)
    wrong = opened.maintenance.check()
    for line in wrong:
        print(line)
    if wrong:
        raise SystemExit(1)
    print(f"{len(opened.experiments.all()):,} experiments, nothing wrong")


@store.command(name="repair")
def repair_store(*, to: Path | None = None, store: StoreURL = None) -> None:
    """Mend what can be mended without losing anything, then check. Stop the service first.

    Damage to the file itself, or a gap in a log, is never mended in place: with --to, what is left of an SQLite Store
    is written to a new file, and what was lost is said. Restore a backup if you have one that is newer than that.

    Parameters
    ----------
    to
        A new file for all that can be read. The old one stays as it is.
    store
        Where it is kept: sqlite:///file.db or postgresql://user:password@host/name. DRIFTBANDITS_STORE, or
        sqlite:///driftbandits.db, unless given.
    """
    if to is not None:
        from driftbandits.store.salvage import salvage

        for line in salvage(sqlite_file(store), to):
            print(line)
        print(f"wrote {to}")
        return
    for line in open_store(store, existing=True).maintenance.repair():
        print(line)
    check_store(store=store)


@store.command(name="backup")
def backup_store(file: Path, *, store: StoreURL = None) -> None:
    """Copy an SQLite Store to a new file while the service runs. It appears when it is complete.

    Parameters
    ----------
    file
        The copy; restore it by putting it in the place of the original while no service runs.
    store
        Where it is kept: sqlite:///file.db. For PostgreSQL use pg_dump.
    """
    open_store(store, existing=True).maintenance.backup(file)
    print(f"wrote {file}")


@store.command(name="keep")
def keep_events(id: str, time: str, *, store: StoreURL = None) -> None:
    """Say for how long an experiment's events are kept. Older ones are erased; what was learnt from them stays.

    A service erases them every hour, a day of the log at a time; ``driftbandits store prune`` does so at once.

    Parameters
    ----------
    id
        The experiment; ``driftbandits experiments`` lists them.
    time
        As in 90d, 12h or forever.
    store
        Where it is kept: sqlite:///file.db or postgresql://user:password@host/name. DRIFTBANDITS_STORE, or
        sqlite:///driftbandits.db, unless given.
    """
    from driftbandits._common.durations import seconds_of

    opened, seconds = open_store(store, existing=True), seconds_of(time)
    opened.experiments.update(id, keep=seconds, audit=by_command("changed", id, {"keep": seconds}))
    print(f"{id}: events are kept {'for ever' if seconds is None else f'for {time}'}")


@store.command(name="prune")
def prune_store(*, archive: Path | None = None, store: StoreURL = None) -> None:
    """Erase events that are older than their experiments keep, while the service runs or not. There is no way back.

    Parameters
    ----------
    archive
        A folder: the Decisions are written to Parquet files there before they are erased.
    store
        Where it is kept: sqlite:///file.db or postgresql://user:password@host/name. DRIFTBANDITS_STORE, or
        sqlite:///driftbandits.db, unless given.
    """
    from datetime import UTC, datetime

    opened = open_store(store, existing=True)
    kept = {each.id: each.keep for each in opened.experiments.all() if each.keep is not None}
    for id, keep in kept.items():
        pruned = opened.retention.prune(id, archive)
        written = f", written to {pruned.archive}" if pruned.archive else ""
        until = datetime.fromtimestamp(opened.database.clock() - keep, UTC)
        print(f"{id}: erased {pruned.decisions:,} Decisions of before {until:%Y-%m-%d %H:%M} UTC{written}")
    if not kept:
        print("every experiment keeps its events for ever: driftbandits store keep ID 90d says otherwise")


@store.command(name="compact")
def compact_store(*, store: StoreURL = None) -> None:
    """Give back the room of what was erased and deleted. All is written anew, which needs as much room again.

    A service can't write meanwhile: stop it, if the Store is large.

    Parameters
    ----------
    store
        Where it is kept: sqlite:///file.db or postgresql://user:password@host/name. DRIFTBANDITS_STORE, or
        sqlite:///driftbandits.db, unless given.
    """
    open_store(store, existing=True).maintenance.compact()
    print("done")


@store.command(name="erase")
def erase_unit(unit: str, *, experiment: str | None = None, store: StoreURL = None) -> None:
    """Erase what belongs to a unit, such as a visitor. Its Decisions stay, with nobody's name. There is no way back.

    A service must not hold the experiment meanwhile: POST .../erase does the same there. Backups, and exports of
    before, are out of reach; there it is called as this command prints.

    Parameters
    ----------
    unit
        As it was named in asks, such as user-17.
    experiment
        Its id; all experiments unless given.
    store
        Where it is kept: sqlite:///file.db or postgresql://user:password@host/name. DRIFTBANDITS_STORE, or
        sqlite:///driftbandits.db, unless given.
    """
    opened = open_store(store, existing=True)
    for each in opened.experiments.all() if experiment is None else [opened.experiments.get(experiment)]:
        erased = opened.writers.erase(opened.writers.acquire(each.id), unit, by_command("erased", each.id))
        opened.writers.release(erased.writer)
        print(f"{each.id}: erased {erased.unit} from {erased.decisions:,} Decisions")


@store.command(name="delete")
def delete_experiment(id: str, *, confirm: str = "", store: StoreURL = None) -> None:
    """Delete an experiment and all its data, for ever.

    Parameters
    ----------
    id
        The experiment; ``driftbandits experiments`` lists them.
    confirm
        The same id once more.
    store
        Where it is kept: sqlite:///file.db or postgresql://user:password@host/name. DRIFTBANDITS_STORE, or
        sqlite:///driftbandits.db, unless given.
    """
    from driftbandits.errors import InputError

    opened = open_store(store, existing=True)
    experiment = opened.experiments.get(id)
    if confirm != id:
        raise InputError(
            f"this deletes {experiment.last_seq:,} events of {id!r} for ever; if you mean it, add --confirm {id}"
        )
    opened.writers.delete(opened.writers.acquire(id), by_command("deleted", id))
    print(f"deleted {id}")
