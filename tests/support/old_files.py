"""Files of every kind, written halfway by ``write`` and continued by ``go_on``, with public names only.

``write`` was run once with the package as it was before its files moved into rooms: that is tests/project/before.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

import driftbandits as db

ARMS = ["red", "green", "blue"]
SESSIONS: dict[str, db.Policy] = {
    "AutoTS": db.AutoTS(),
    "SnoozeItK": db.SnoozeItK(2_000, 1e-3),
    "SnoozeIt": db.SnoozeIt(2_000, 1e-3, confidence=0.1),  # of two arms, and learns in turn
    "Doubling": db.Doubling(db.SnoozeItK(16, 1e-3)),  # of many stages
}
GRID = {"noise": ["gaussian", "bernoulli"], "horizon": [300, 500]}
SWEEPS: dict[str, dict[str, Any]] = {
    "sweep-by-name": {"grid": {"policy": ["SWUCBSharp", "KalmanTS"], "instance": "toggling", **GRID}},
    "sweep-by-class": {
        "grid": GRID,
        "policies": {"sharp": {"policy": db.SWUCBSharp}, "kalman": {"policy": db.KalmanTS, "sigma": 0.5}},
        "instances": {"toggling": {"instance": db.instances.toggling}},
    },
}


def reward(step: int, arm: int) -> float:
    """Any fixed numbers between 0 and 1."""
    return (7 * step + 3 * arm + step * arm % 5) % 10 / 10


def simulation(noise: db.Noise, keep: Path | None = None) -> db.Simulation:
    """Two policies for 500 steps, with events."""
    instance = db.instances.toggling(500)
    policies = {"DriftUCB": db.DriftUCB(500, 1e-3), "SnoozeIt": db.SnoozeIt(500, 1e-3, confidence=0.1)}
    options: dict[str, Any] = {"runs": 6, "seed": 3, "checkpoints": 5, "events": True, "progress": False}
    return db.simulate(policies, instance, noise, keep=keep, **options)


def numbers(result: db.Simulation) -> dict[str, Any]:
    """All that a Simulation holds but its seconds."""
    arrays = {name: getattr(result, name) for name in ("regret", "realised", "pulls")}
    found: dict[str, Any] = {
        name: {policy: array.tolist() for policy, array in by_policy.items()} for name, by_policy in arrays.items()
    }
    return {**found, "events": {name: table.to_dict(as_series=False) for name, table in result.events.items()}}


def sweep(name: str) -> db.Sweep:
    """One of SWEEPS."""
    return db.Sweep(**SWEEPS[name], name=name, runs=20, seed=5)


def session(name: str) -> db.Session:
    """A Session whose clock stands still."""
    arms = ARMS[:2] if name == "SnoozeIt" else ARMS
    return db.Session(SESSIONS[name], arms, seed=11, explore=0.2, clock=lambda: 100.0)


def decide(session: Any, times: int) -> list[str]:
    """Ask so often and tell the reward of every Decision but each fourth, which stays open; the arms."""
    arms = []
    for _ in range(times):
        decision = session.ask()
        arms.append(decision.arm)
        if decision.step % 4:
            session.tell(decision.id, reward(decision.step, ARMS.index(decision.arm)))
    return arms


def play(online: db.Online, first: int, times: int) -> list[int]:
    """So many steps of a policy played by hand; the arms."""
    arms = []
    for step in range(first, first + times):
        arms.append(online.select())
        online.update(arms[-1], reward(step, arms[-1]))
    return arms


def online() -> db.Online:
    return db.Online(db.KalmanTS(1e-3), n_arms=3, seed=7)


def drop(path: Path, rows: pl.Expr) -> None:
    """Take these rows out of a Parquet file, as if they had never been run."""
    owner = {"driftbandits": pl.read_parquet_metadata(path)["driftbandits"]}
    pl.read_parquet(path).remove(rows).write_parquet(path, metadata=owner)


def write(folder: Path) -> None:
    """Every file, as if the work had been stopped halfway."""
    simulation(db.Gaussian(0.5)).save(folder / "finished.parquet")
    simulation(db.Bernoulli(), keep=folder / "kept.parquet")
    drop(folder / "kept.parquet", (pl.col("run") > 3) | (pl.col("policy") == "SnoozeIt") & (pl.col("run") != 2))
    for name in SWEEPS:
        sweep(name).run(folder / name, workers=1, progress=False)
        for part in (folder / name).glob("part-*"):
            drop(part, pl.col("cell") % 3 == 1)
        (folder / name / ".lock").unlink(missing_ok=True)
    for name in SESSIONS:
        begun = session(name)
        decide(begun, 60)
        (folder / f"{name}.session").write_bytes(begun.snapshot())
    by_hand = online()
    play(by_hand, 1, 60)
    (folder / "KalmanTS.online").write_bytes(by_hand.snapshot())
    store = db.Store(f"sqlite:///{folder / 'store.db'}")
    with store.open("button", arms=ARMS, policy=db.SnoozeItK(2_000, 1e-3), seed=11, explore=0.2) as durable:
        decide(durable, 60)
    store.close()


def go_on(folder: Path) -> dict[str, Any]:
    """What comes next."""
    finished = db.Simulation.load(folder / "finished.parquet")
    found: dict[str, Any] = {"finished": numbers(finished), "rerun": numbers(finished.rerun())}
    found["kept"] = numbers(simulation(db.Bernoulli(), keep=folder / "kept.parquet"))
    for name in SWEEPS:
        found[name] = sweep(name).run(folder / name, workers=1, progress=False).to_dict(as_series=False)
    for name in SESSIONS:
        resumed = db.Session.restore((folder / f"{name}.session").read_bytes(), clock=lambda: 100.0)
        found[name] = decide(resumed, 40)
    by_hand = online()
    by_hand.restore((folder / "KalmanTS.online").read_bytes())
    found["online"] = play(by_hand, 61, 40)
    store = db.Store(f"sqlite:///{folder / 'store.db'}", existing=True)
    with store.open("button") as durable:
        found["store"] = decide(durable, 40)
    store.close()
    return dict(json.loads(json.dumps(found)))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
