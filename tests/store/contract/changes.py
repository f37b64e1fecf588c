"""What changes while an experiment runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from driftbandits.errors import InputError
from driftbandits.live.decisions import ArmChanged, Counted, Forced, PolicyChanged, Told
from driftbandits.policies import UCB1, BreakEven
from stores import ARMS, StoreTests, fold, refused


class ChangeTests(StoreTests):
    """What changes while an experiment runs."""

    def test_arms_and_policy_change_and_old_decisions_stay_explainable(self) -> None:
        store = self.store()
        name = self.new(store)
        said = {}
        with store.open(name) as session:
            for step in range(1, 41):
                decision = session.ask()
                said[step] = session.explain(decision)
                session.tell(decision, 0.5 if decision.arm == ARMS[0] else 0.25)
                if step == 10:
                    session.add_arm("new")
                    session.hold_out(0.3, "new")
                elif step == 20:
                    session.disable_arm(ARMS[0])
                elif step == 30:
                    session.change(policy=UCB1(), explore=0.2, timeout=60)
                    session.force_arm(ARMS[1])
                elif step == 35:
                    session.force_arm("new")
                    session.remove_arm(ARMS[1])
                    session.enable_arm(ARMS[0])
            refused(InputError, "has no arm", lambda: session.disable_arm(ARMS[1]))
        found = store.experiments.get(name)
        assert (found.arms, found.statuses) == ([*ARMS, "new"], ["on", "removed", "on"])
        assert (found.policy["class"], found.explore, found.timeout) == ("UCB1", 0.2, 60)
        assert found.first is not None
        assert (found.first["arms"], found.first["policy"]["class"]) == (ARMS, "BreakEven")
        assert [event.arm for event in store.history.events(name) if isinstance(event, Forced)] == [1, 2]
        kinds = [event for event in store.history.events(name) if isinstance(event, ArmChanged | PolicyChanged)]
        assert [getattr(event, "name", None) for event in kinds] == ["new", ARMS[0], None, ARMS[1], ARMS[0]]
        again = self.store()
        with again.open(name, arms=ARMS, policy=BreakEven()) as session:  # as it was created
            assert {step: again.history.explain(name, step) for step in said} == said
            assert session.ask().arm == "new"
            assert fold(again, name).snapshot() == session.writer.session.snapshot()
        with tempfile.TemporaryDirectory() as folder:
            assert store.history.export(name, Path(folder) / "log.csv") == 41
            assert ",new," in (Path(folder) / "log.csv").read_text()
        assert store.maintenance.check() == []

    def test_silence_that_was_learnt_ahead_is_in_the_log(self) -> None:
        store = self.store()
        name = self.new(store, timeout=60.0, default_reward=0.0, late=True, policy=UCB1())
        writer = store.writers.acquire(name)
        live, now = writer.session, [writer.session.clock() - 90.0]
        live.clock = lambda: now[0]
        for _ in range(40):
            decisions = live.ask_many(5)
            now[0] += 2.0
            live.tell_many({decisions[0]: 1.0})
        live.change(late=False)
        live.change(late=True)
        store.writers.append([(writer, live.journal or [])])
        live.journal = []
        assert any(isinstance(event, Counted) for event in store.history.events(name))
        assert store.experiments.get(name).late
        assert store.experiments.get(name).session().late
        assert fold(store, name).snapshot() == live.snapshot()
        store.writers.save_snapshot(writer)
        told = next(event.step for event in store.history.events(name) if isinstance(event, Told))
        writer = store.writers.correct(writer, [(told, 0.0)])  # a refund
        assert fold(store, name).snapshot() == writer.session.snapshot()
        with tempfile.TemporaryDirectory() as folder:
            assert store.history.export(name, Path(folder) / "log.csv") == 200
            rows = (Path(folder) / "log.csv").read_text().splitlines()[1:]
        kinds = [row.split(",")[7] for row in rows]
        assert set(kinds) == {"told", "default", "corrected", ""}, "what is open is open, learnt ahead or not"
        assert store.maintenance.check() == []
        store.writers.release(writer)

    def test_title_and_drift_can_change(self) -> None:
        store = self.store()
        name = self.new(store)
        store.experiments.update(name, title="Buttons", drift=1e-4)
        store.experiments.update(name)
        assert (store.experiments.get(name).title, store.experiments.get(name).drift) == ("Buttons", 1e-4)
        store.experiments.update(name, drift=None)
        assert (store.experiments.get(name).title, store.experiments.get(name).drift) == ("Buttons", None)
        refused(InputError, "there is no experiment", lambda: store.experiments.update("nobody", title="x"))

    def test_an_export_goes_on_where_the_last_one_ended(self) -> None:
        store = self.store()
        name = self.new(store)
        with tempfile.TemporaryDirectory() as folder, store.open(name) as session:
            file = Path(folder) / "part.csv"
            decisions = session.ask_many(6)
            for decision in decisions[:3]:
                session.tell(decision, 0.5)
            since = store.experiments.get(name).last_seq
            assert store.history.export(name, file, since=since) == 0
            session.tell(decisions[4], 0.25)
            session.correct(decisions[0].id, 0.75)
            session.ask()
            assert store.history.export(name, file, since=since) == 3
            rows = [line.split(",") for line in file.read_text().splitlines()[1:]]
            assert [(int(row[1]), row[6], row[7]) for row in rows] == [
                (1, "0.75", "corrected"),
                (5, "0.25", "told"),
                (7, "", ""),
            ]
            assert store.history.export(name, file) == 7
            refused(InputError, "since", lambda: store.history.export(name, file, since=-1))
