"""The commands that read a Store; as in ``cli``, each imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from driftbandits.cli.serve import open_store

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
    found = opened.experiments()
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


def export(id: str, file: Path, *, store: StoreURL = None) -> None:
    """Write an experiment's log to a file, one row for each Decision.

    For example: driftbandits export button button.parquet --store sqlite:///file.db

    Parameters
    ----------
    id
        The experiment; ``driftbandits experiments`` lists them.
    file
        Ends in .parquet, .csv or .jsonl. It appears when it is complete.
    store
        Where it is kept: sqlite:///file.db or postgresql://user:password@host/name. DRIFTBANDITS_STORE, or
        sqlite:///driftbandits.db, unless given.
    """
    from rich.console import Console
    from rich.progress import Progress

    opened, console = open_store(store, existing=True), Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("exporting", total=opened.experiment(id).last_seq / 2)
        rows = opened.export(id, file, lambda done: bar.update(task, completed=done))
    print(f"wrote {rows:,} Decisions to {file}")
