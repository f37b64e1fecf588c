"""What is said of threads is true: a Store and a durable session may be shared by them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import driftbandits as db
from driftbandits.live.decisions import Asked, Outcome, Told
from driftbandits.store import BusyError
from stores import fold

THREADS = 6
ROUNDS = 15


def test_threads_share_a_durable_session(tmp_path: Path) -> None:
    store = db.Store(f"sqlite:///{tmp_path / 'store.db'}")
    with store.open("x", arms=["a", "b"]) as session, ThreadPoolExecutor(THREADS) as pool:

        def play(thread: int) -> list[str]:
            ids = []
            for number in range(ROUNDS):
                decision = session.ask()
                reward = (thread * ROUNDS + number) / 1000
                assert session.tell(decision.id, reward) is Outcome.NEW
                assert session.explain(decision).step == decision.step
                ids.append(f"{decision.id}={reward}")
            return ids

        said = [each for ids in pool.map(play, range(THREADS)) for each in ids]
        written = session.writer.session.snapshot()
    log = list(store.history.events("x"))
    assert [event.step for event in log if isinstance(event, Asked)] == [*range(1, THREADS * ROUNDS + 1)]
    told = [f"x-{event.step}={event.reward}" for event in log if isinstance(event, Told)]
    assert sorted(said) == sorted(told)
    assert fold(store, "x").snapshot() == written
    store.close()


def test_threads_share_a_store(tmp_path: Path) -> None:
    """Each is the writer of its own experiment; one of all may be the writer of one that all want."""
    store = db.Store(f"sqlite:///{tmp_path / 'store.db'}")
    store.create("wanted", arms=["a", "b"])

    def work(thread: int) -> bool:
        name = store.create(f"x{thread}", arms=["a", "b"]).id
        writer = store.writers.acquire(name)
        for _ in range(ROUNDS):
            writer.session.tell(writer.session.ask().id, 0.5)
            events, writer.session.journal = writer.session.journal or [], []
            store.writers.append([(writer, events)])
            assert store.experiments.get(name).last_seq == writer.seq
            assert len(list(store.history.events(name))) == writer.seq
        try:
            store.writers.acquire("wanted")
        except BusyError:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        assert sum(pool.map(work, range(THREADS))) == 1
    assert len(store.experiments.all()) == THREADS + 1
    for thread in range(THREADS):
        assert fold(store, f"x{thread}").step == ROUNDS
    store.close()
