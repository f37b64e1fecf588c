"""Deleting and checking."""

from __future__ import annotations

import secrets

from driftbandits.errors import InputError
from driftbandits.live.decisions import Asked
from stores import ARMS, StoreTests, refused


class UpkeepTests(StoreTests):
    """Deleting and checking."""

    def test_a_deleted_experiment_leaves_nothing(self) -> None:
        from driftbandits.store import AuditEntry, FencedError

        store = self.store()
        old = store.writers.acquire(self.new(store))
        name, key = old.experiment.id, old.experiment.key
        self.pairs(store, old, 3)
        store.writers.save_snapshot(old)
        store.writers.delete(old, AuditEntry("me", "deleted", name, {"why": "asked to"}))
        assert name not in [each.id for each in store.experiments.all()]
        refused(InputError, "no experiment", lambda: store.experiments.get(name))
        refused(FencedError, "", lambda: store.writers.append([(old, [Asked(4, 0, 1.0, None, None)])]))
        again = store.create(name, arms=ARMS)
        assert (again.key != key, again.last_seq, list(store.history.events(name))) == (True, 0, [])
        assert store.writers.acquire(name).session.step == 0
        assert [deed.details for deed in store.audit.entries() if deed.experiment == name] == [{"why": "asked to"}]
        assert [each.did for each in store.audit.of(name, ["deleted"], 0.0, 9)] == ["deleted"]
        assert store.audit.of(name, ["deleted"], again.created, 9) == [], "it was another experiment"

    def test_nothing_is_done_unless_it_is_written_down(self) -> None:
        from driftbandits.store import AuditEntry, StoreError

        store = self.store()
        writer = store.writers.acquire(self.new(store))
        self.pairs(store, writer, 3)
        name, token = writer.experiment.id, f"contract-{secrets.token_hex(6)}"
        store.tokens.add(token, "read")

        def everything() -> object:
            mine = [each for each in store.tokens.all() if each.name.startswith(token)]
            found = [each for each in store.experiments.all() if each.id.startswith(name)]
            return found, mine, list(store.history.events(name)), len(store.audit.entries(limit=100_000))

        before, nobody = everything(), AuditEntry(None, "broken", name)  # type: ignore[arg-type]
        for do in (
            lambda audit: store.create(f"{name}-2", arms=ARMS, audit=audit),
            lambda audit: store.experiments.set_status(name, "paused", audit),
            lambda audit: store.experiments.update(name, title="other", drift=0.1, keep=5000.0, audit=audit),
            lambda audit: store.tokens.add(f"{token}-2", "read", audit=audit),
            lambda audit: store.tokens.revoke(token, audit),
            lambda audit: store.writers.append([(writer, [Asked(4, 0, 1.0, None, None)])], [(writer, audit)]),
            lambda audit: store.writers.correct(writer, [(1, 0.5)], audit),
            lambda audit: store.writers.erase(writer, "user-1", audit),
            lambda audit: store.writers.delete(writer, audit),
        ):
            refused(StoreError, "", lambda do=do: do(nobody))  # type: ignore[misc]
            assert everything() == before

    def test_what_is_whole_has_nothing_wrong(self) -> None:
        store = self.store()
        writer = store.writers.acquire(self.new(store))
        self.pairs(store, writer, 5)
        store.maintenance.compact()
        store.database.try_to_write()
        assert [wrong for wrong in store.maintenance.check() if writer.experiment.id in wrong] == []
