"""Units and metadata: kept, exported, and erased without a trace."""

from __future__ import annotations

import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from driftbandits.errors import InputError
from driftbandits.live.decisions import Asked, Event, Note, StickyChanged
from stores import ARMS, StoreTests, fold, journal, refused

if TYPE_CHECKING:
    from driftbandits.store import Store


class UnitTests(StoreTests):
    """Units and metadata: kept, exported, and erased without a trace."""

    def test_what_asks_came_with_comes_back(self) -> None:
        store = self.store()
        writer = store.writers.acquire(self.new(store))
        told: list[Event] = [
            Asked(1, 1, 1e9, None, None, Note(bytes(range(16)), 7, '{"page":"größer\\u0000"}')),
            Asked(2, 0, 1e9, None, None),
            StickyChanged(60.0, 1e9),
            Asked(3, 0, 1e9, None, None, Note(None, None, "{}")),
            Asked(4, 0, 1e9, None, None, Note(None, 3, None)),
        ]
        store.writers.append([(writer, told)])
        assert list(store.history.events(writer.experiment.id)) == told
        assert list(store.history.events(writer.experiment.id, after=3)) == told[3:]
        assert store.experiments.get(writer.experiment.id).sticky == 60.0

    def test_units_keep_their_arm_over_restarts_and_an_erased_one_is_nowhere(self) -> None:
        store = self.store()
        name = self.new(store, sticky=3600, explore=0.5)
        other = self.new(store, sticky=3600)
        secret = store.experiments.get(name).unit_key
        assert secret != store.experiments.get(other).unit_key
        assert secret not in repr(store.experiments.get(name))
        users = [f"user-{number}" for number in range(12)]
        with store.open(name) as session:
            session.tell_many(dict.fromkeys(session.ask_many(20), 0.5))
            session.hold_out(0.3, ARMS[0])
            pages = [{"page": user} for user in users]
            arms = [decision.arm for decision in session.ask_many(12, users, pages)]
            kept = session.writer
            store.writers.save_snapshot(kept)
            session.tell_many(dict.fromkeys(session.ask_many(12, users, pages), 1.0))
            store.writers.save_snapshot(kept)
            session.change(sticky=7200)
        with self.store().open(name) as session:
            assert [decision.arm for decision in session.ask_many(12, users)] == arms
            hashed = next(
                event.note.unit for event in store.history.events(name) if isinstance(event, Asked) and event.note
            )
            assert hashed is not None
            everything = self._saved(store, name)
            assert sum(hashed in each for each in everything) == 2
            assert not any(b"user-" in each for each in everything)
            before, lift = session.writer.session.snapshot(), session.lift()
            assert session.erase(users[0]) == 3
            assert session.erase(users[0]) == 0
            now = session.writer.session.snapshot()
            assert hashed in before
            assert hashed not in now
            assert len(now) == len(before)
            assert not any(hashed in each for each in self._saved(store, name))
            assert session.lift() == lift
            assert fold(store, name).snapshot() == now
            rest = [event.note for event in store.history.events(name) if isinstance(event, Asked) and event.note]
            assert [note.unit is None and note.metadata is None for note in rest] == [
                step % 12 == 0 for step in range(36)
            ]
            assert [decision.arm for decision in session.ask_many(11, users[1:])] == arms[1:]
            session.ask(users[0])
            refused(InputError, "a unit is a text", lambda: session.erase(""))
        assert fold(store, name).snapshot() == self.store().writers.acquire(name).session.snapshot()
        assert store.maintenance.check() == []

    def test_units_and_metadata_are_exported(self) -> None:
        import polars as pl

        store = self.store()
        name = self.new(store, sticky=3600)
        with tempfile.TemporaryDirectory() as folder, store.open(name) as session:
            session.ask()
            session.ask("user-1", {"page": "home"})
            session.ask("user-1")
            session.ask(metadata={"visits": 3})
            for ending, read in (("parquet", pl.read_parquet), ("csv", pl.read_csv), ("jsonl", pl.read_ndjson)):
                file = Path(folder) / f"log.{ending}"
                assert store.history.export(name, file) == 4
                table = read(file)
                assert table["again"].to_list() == [False, False, True, False]
                assert table["metadata"].to_list() == [None, '{"page":"home"}', None, '{"visits":3}']
                units = table["unit"].to_list()
                assert (units[0], units[1] == units[2], len(units[1]), units[3]) == (None, True, 32, None)
            session.erase("user-1")
            assert store.history.export(name, file) == 4
            assert "home" not in file.read_text()
            assert units[1] not in file.read_text()

    def test_retention_and_deletion_leave_no_notes(self) -> None:
        store = self.store()
        start = store.database.clock() - 1e6
        store.database.clock = lambda: start
        writer = store.writers.acquire(self.new(store, sticky=1e9, keep=3_600.0))
        name, key = writer.experiment.id, writer.experiment.key
        writer.session.clock = lambda: start
        decisions = writer.session.ask_many(6, [f"user-{number}" for number in range(6)], [{"n": 1}] * 6)
        writer.session.tell_many(dict.fromkeys(decisions[1:], 0.5))
        store.writers.append([(writer, journal(writer))])
        writer.session.clock = lambda: start + 7_200.0
        writer.session.ask("user-6")
        store.writers.append([(writer, journal(writer))])
        store.database.clock = lambda: start + 7_200.0
        assert store.retention.prune(name).decisions == 5
        assert self._steps(store, key) == [1, 7]  # still open, and new
        arms = [decision.arm for decision in writer.session.ask_many(6, [f"user-{n}" for n in range(6)])]
        assert arms == [decision.arm for decision in decisions]
        store.writers.append([(writer, journal(writer))])
        writer, unit, count = store.writers.erase(writer, "user-2")
        assert count == 1  # the other one is past retention
        assert not any(bytes.fromhex(unit) in each for each in self._saved(store, name))
        session = store.sessions.start(store.experiments.get(name))
        for event in store.history.amended(name, 0, writer.seq):
            session.apply(event)
        assert session.snapshot() == writer.session.snapshot()
        store.writers.delete(writer)
        assert self._steps(store, key) == []

    def _saved(self, store: Store, name: str) -> list[bytes]:
        from sqlalchemy import select

        from driftbandits.store.schema import folded, snapshots

        key = store.experiments.get(name).key
        with store.database.reading() as connection:
            return [
                zlib.decompress(data)
                for table in (snapshots, folded)
                for data in connection.execute(select(table.c.data).where(table.c.experiment == key)).scalars()
            ]

    def _steps(self, store: Store, key: int) -> list[int]:
        from sqlalchemy import select

        from driftbandits.store.schema import notes

        with store.database.reading() as connection:
            rows = select(notes.c.step).where(notes.c.experiment == key).order_by(notes.c.step)
            return list(connection.execute(rows).scalars())
