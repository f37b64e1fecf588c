"""What happened to an experiment: from its log, from what was noted of who did what, and from its alarms."""

from __future__ import annotations

from typing import Any

from driftbandits.live.decisions import (
    ArmChanged,
    Changed,
    Event,
    Forced,
    HeldOut,
    LateSwitched,
    PolicyChanged,
    StickyChanged,
)
from driftbandits.service.dashboard.numbers import number_or_none
from driftbandits.service.dashboard.views import View
from driftbandits.store import Experiment, Store
from driftbandits.store.audit import AuditRecord

MOST = 200
"""Entries, the newest, besides corrections."""
DAYS = 50
"""Entries of corrections, the newest: one a day, or refunds would push out everything else."""
APART = 10.0
"""Seconds, at most, between an event and the note of who caused it."""
NOTED = {"created": "created", "paused": "paused", "running": "resumed", "archived": "archived"}
CAUSED_BY = {"policy": "changed", "settings": "changed"}
"""As it is noted; other events are noted as changed arms."""
READ = (*NOTED, "changed", "changed arms")
DESCRIBED = ("title", "drift", "keep")
"""What is noted as changed, and is no event."""
SETTINGS = ("timeout", "default_reward", "reward_range")

Entry = dict[str, Any]


def timeline(store: Store, id: str, alarms: list[Entry], with_names: bool) -> list[Entry]:
    """Entries with ``time``, ``kind`` and what belongs to it, oldest first; ``who`` where names may be shown."""
    experiment = store.experiments.get(id)
    deeds = store.audit.of(id, READ, experiment.created, MOST)
    found = _logged(experiment, store.history.changes(id, MOST))
    for entry in found:
        entry["who"] = _who(entry, deeds)
    found += [each for deed in deeds if (each := _noted(deed))]
    found = sorted(found + alarms, key=_place)[-MOST:]
    corrected = store.history.corrections_by_day(id, DAYS)
    found += [{"time": round(time, 3), "kind": "corrected", "count": count} for count, time in corrected]
    found.sort(key=_place)
    return found if with_names else [{name: entry[name] for name in entry if name != "who"} for entry in found]


def _place(entry: Entry) -> tuple[float, bool]:
    return entry["time"], entry["kind"] != "created"


def _logged(experiment: Experiment, events: list[Event]) -> list[Entry]:
    first = experiment.first or {}
    before = {name: first.get(name, getattr(experiment, name)) for name in SETTINGS}
    known = set(range(len(first.get("arms", experiment.arms))))
    policy: str = first.get("policy", experiment.policy)["class"]
    found = list[Entry]()
    for event in events:
        entry: Entry = {"time": round(event.time, 3)}
        if isinstance(event, ArmChanged):
            entry |= {"kind": "arm", "arm": event.name, "status": event.status, "new": event.arm not in known}
            known.add(event.arm)
        elif isinstance(event, Forced | HeldOut):
            entry |= {"kind": "forced" if isinstance(event, Forced) else "held out"}
            entry |= {"arm": None if event.arm is None else experiment.arms[event.arm]}
            entry |= {"share": event.share} if isinstance(event, HeldOut) else {}
        elif isinstance(event, PolicyChanged):
            now = type(event.policy).__name__
            entry |= {"kind": "policy", "policy": now, "before": policy, "explore": event.explore}
            policy = now
        elif isinstance(event, Changed):
            now_set = {name: getattr(event, name) for name in SETTINGS}
            changed = {name: now_set[name] for name in SETTINGS if now_set[name] != before[name]}
            before = now_set
            if not changed:
                continue  # it came with a policy
            entry |= {"kind": "settings", "settings": changed}
        elif isinstance(event, StickyChanged):
            entry |= {"kind": "settings", "settings": {"sticky": event.sticky}}
        elif isinstance(event, LateSwitched):
            entry |= {"kind": "settings", "settings": {"late": event.on}}
        else:
            entry |= {"kind": "clock"}
        found.append(entry)
    return found


def _who(entry: Entry, deeds: list[AuditRecord]) -> str | None:
    """Who is noted to have done that at about that time."""
    did = CAUSED_BY.get(entry["kind"], "changed arms")
    near = [deed for deed in deeds if deed.did == did and abs(deed.time - entry["time"]) <= APART]
    return min(near, key=lambda deed: abs(deed.time - entry["time"])).who if near else None


def _noted(deed: AuditRecord) -> Entry | None:
    entry: Entry = {"time": round(deed.time, 3), "who": deed.who}
    if deed.did in NOTED:
        return entry | {"kind": NOTED[deed.did]}
    described = {name: deed.details[name] for name in DESCRIBED if name in (deed.details or {})}
    return entry | {"kind": "settings", "settings": described} if deed.did == "changed" and described else None


def alarm_entries(view: View) -> list[Entry]:
    """The alarms of an experiment in memory, as entries."""
    view.take_in()
    return [
        {
            "time": round(time, 3),
            "kind": "alarm",
            "arm": view.names[alarm.arm],
            "step": step,
            "change": number_or_none(alarm.change),
        }
        for step, time, alarm in view.alarms
    ]
