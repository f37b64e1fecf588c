"""Which drift the alarm compares rewards with: the declared one, else the policy's; and when it begins anew."""

from __future__ import annotations

import driftbandits as db
from driftbandits.service.dashboard.views import View
from in_process import serving


def blocks(view: View) -> int:
    view.take_in()
    return 0 if view.alarm is None else sum(view.alarm.tests) + sum(map(len, view.alarm.levels))


def watched(view: View) -> float | None:
    return None if view.alarm is None else view.alarm.drift


def test_another_policy_relies_on_another_drift() -> None:
    session = db.Session(db.KalmanTS(drift=1e-4), arms=["a", "b"], timeout=60, default_reward=0)
    view, log = View(session), []
    journal = session.journal = []

    def played(**changes: object) -> View:
        session.tell_many(dict.fromkeys(session.ask_many(200), 0.5))
        session.change(**changes)  # type: ignore[arg-type]
        view.apply(journal, session)
        log.extend(journal)
        journal.clear()
        return view

    assert watched(view) == 1e-4
    assert blocks(played(explore=0.1)) > 0
    before = view.alarm
    assert played(explore=0.2).alarm is before, "the policy is the same"
    assert watched(played(policy=db.KalmanTS(drift=1e-2))) == 1e-2
    assert blocks(view) == 0, "what was compared with the old drift is not compared with the new one"
    assert watched(played(policy=db.AutoTS())) is None
    view.watch(1e-3)
    assert watched(played(policy=db.KalmanTS(drift=1e-5))) == 1e-3, "what is declared counts"
    assert blocks(played(late=True)) == 0
    assert blocks(played(late=False)) == 0, "of the time when silence was weighed nothing is compared"
    assert blocks(played(timeout=30)) > 0
    view.watch(None)
    again = View(db.Session(db.KalmanTS(drift=1e-4), arms=["a", "b"], timeout=60, default_reward=0))
    again.apply(log, None)
    assert watched(again) == watched(view) == 1e-5, "read from the log it is the same"


def test_without_a_declared_drift_the_policys_is_watched_again() -> None:
    with serving() as running:
        path = running.create(policy="KalmanTS", policy_settings={"drift": 1e-4})
        for declared, expected in ((1e-2, 1e-2), (None, 1e-4)):
            assert running.http.patch(path, json={"drift": declared}).status_code == 200
            assert watched(running.held().view) == expected
