"""Deleting and checking."""

from __future__ import annotations

from driftbandits.errors import InputError
from driftbandits.live.decisions import Asked
from driftbandits.testing.contract.base import ARMS, StoreTests, refused


class UpkeepTests(StoreTests):
    """Deleting and checking."""

    def test_a_deleted_experiment_leaves_nothing(self) -> None:
        from driftbandits.store import FencedError

        store = self.store()
        old = store.acquire(self.new(store))
        name, key = old.experiment.id, old.experiment.key
        self.pairs(store, old, 3)
        store.snapshot(old)
        store.delete(old)
        assert name not in [each.id for each in store.experiments()]
        refused(InputError, "no experiment", lambda: store.experiment(name))
        refused(FencedError, "", lambda: store.append([(old, [Asked(4, 0, 1.0, None, None)])]))
        again = store.create(name, arms=ARMS)
        assert (again.key != key, again.last_seq, list(store.events(name))) == (True, 0, [])
        assert store.acquire(name).session.step == 0
        store.note("me", "deleted", name, {"why": "asked to"})
        assert [deed.details for deed in store.deeds() if deed.experiment == name] == [{"why": "asked to"}]

    def test_what_is_whole_has_nothing_wrong(self) -> None:
        store = self.store()
        writer = store.acquire(self.new(store))
        self.pairs(store, writer, 5)
        store.compact()
        store.try_to_write()
        assert [wrong for wrong in store.check() if writer.experiment.id in wrong] == []
