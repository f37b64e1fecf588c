"""A Session as bytes, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from driftbandits._common.packing import pack, unpack, unpack_state
from driftbandits.errors import InputError
from driftbandits.instances.describe import build, describe
from driftbandits.live.decisions import Asked
from driftbandits.live.late import restored_late
from driftbandits.live.learners import InTurnLearner

if TYPE_CHECKING:
    from driftbandits.live.session import Session

OPEN = np.dtype([(name, "f8") for name in ("step", "arm", "time", "due", "probability", "learnt")])
CLOSED = np.dtype([("step", "i8"), ("arm", "i8"), ("learnt", "i8"), ("reward", "f8"), ("probability", "f8")])
SETTINGS = {"arms", "seed", "timeout", "default_reward", "reward_range", "explore", "name", "remember"}
SETTINGS |= {"sticky", "unit_key", "late"}
ASIDE = np.dtype([("step", "i8"), ("arm", "i8"), ("reward", "f8")])


def pack_session(session: Session) -> bytes:
    """Everything: ``restore_session`` continues bit for bit."""
    learner = session._learner
    header = {
        "policy": describe(session.policy),
        "settings": {
            "arms": [session.arms[arm] for arm in learner.places],
            "seed": session.seed,
            "timeout": session.timeout,
            "default_reward": session.default_reward,
            "reward_range": session.reward_range,
            "explore": session.explore,
            "late": session.late,
            "name": session.name,
            "remember": session.remember,
            "sticky": session.sticky,
            "unit_key": session.unit_key,
        },
        "step": session.step,
        "changes": session.changes,
        "time": None if session.time == -math.inf else session.time,
        "most_open": session.most_open,
        "learnt": learner.learnt,
        "unknown": sorted(learner.unknown),
        "arms": session.arms,
        "statuses": session.statuses,
        "since": session._since,
        "places": learner.places,
        "late": sorted(learner.late),
        "era": learner.era,
        "first": learner.first if isinstance(learner, InTurnLearner) else 0,
        "forced": learner.forced,
        "holdout": learner.holdout,
        "holdouts": session._holdouts,
        "strata": [session._strata.width, list(session._strata.blocks.items())],
    }
    ahead, cohorts = ({}, {}) if session._late is None else session._late.packed()
    header |= ahead
    # The policy in the settings begins with the arms that it knows; which ones they are is told behind.
    aside = learner.aside if isinstance(learner, InTurnLearner) else []
    return pack(
        header,
        learner.state,
        open=np.array([(*_numbers(event), learnt) for event, learnt in session._open.values()], OPEN),
        closed=np.array(
            [  # thousands at every snapshot: no calls in here
                (step, arm, learnt, math.nan if r is None else r, math.nan if p is None else p)
                for step, (arm, learnt, r, p) in session._closed.items()
            ],
            CLOSED,
        ),
        recent=np.array(list(learner.recent), ASIDE),
        aside=np.array([(step, arm, r) for arm, queue in enumerate(aside) for step, r in queue], ASIDE),
        units=session._units.packed(),
        ways=np.array(list(session._ways.items()), np.int64).reshape(-1, 2),
        grouped=np.array([(number, *sums.flat) for number, sums in session._strata.units.items()]),
        **cohorts,
    )


def restore_session(kind: type[Session], data: bytes, clock: Callable[[], float] | None) -> Session:
    """The Session that was packed, as it was then."""
    header, arrays = unpack(data, "a Session")
    try:
        given = set(header["settings"])
        if given - SETTINGS:
            raise InputError(f"this snapshot is of another version: it has {', '.join(sorted(given - SETTINGS))}")
        session = kind(build(header["policy"]), clock=clock, **header["settings"])
        session.step, session.most_open = header["step"], header["most_open"]
        session.changes = header["changes"]
        session.time = -math.inf if header["time"] is None else header["time"]
        for step, arm, at, due, p, learnt in arrays["open"].tolist():
            event = Asked(int(step), int(arm), at, _absent(due), _absent(p))
            session._open[f"{session.name}-{event.step}"] = (event, int(learnt))
            session._open_by_arm[event.arm] += 1
        for step, arm, learnt, reward, p in arrays["closed"].tolist():
            session._closed[step] = (arm, learnt, _absent(reward), _absent(p))
        learner, aside = session._learner, arrays["aside"].tolist()
        session.arms = header["arms"]
        session.statuses = header["statuses"]
        session._since = header["since"]
        learner.resume_era(header["era"])
        learner.late = set(header["late"])
        learner.forced = header["forced"]
        if isinstance(learner, InTurnLearner):
            learner.first = header["first"]
        learner.holdout = tuple(header["holdout"]) if header["holdout"] else None
        session._holdouts = [(first, share) for first, share in header["holdouts"]]
        session._strata.width, blocks = header["strata"]
        session._strata.blocks = dict(blocks)
        for number, *sums in arrays["grouped"].tolist():
            session._strata.units[int(number)] = np.array(sums).reshape(4, -1)
        session._units.resume(arrays["units"])
        session._ways = {
            step: way
            for step, way in arrays["ways"].tolist()
            if step in session._closed or f"{session.name}-{step}" in session._open
        }
        if "ahead" in header:
            session._late = restored_late(header, arrays, session.timeout, len(session.arms))
        learner.recent.extend(arrays["recent"].tolist())
        learner.resume_places(header["places"], session.statuses)
    except KeyError as error:
        raise InputError(f"this is not a snapshot of a Session: {error} is missing") from error
    except (AttributeError, TypeError) as error:
        raise InputError(f"this is not a snapshot of a Session: {error}") from error
    first = session.policy.stage(header["learnt"]).policy.init(learner.n_arms)
    state = unpack_state(arrays, first, "a Session")
    learner.resume(state, header["learnt"], header["unknown"], aside)
    return session


def _absent(value: float) -> float | None:
    return None if math.isnan(value) else value


def _numbers(event: Asked) -> tuple[float, ...]:
    return tuple(math.nan if value is None else value for value in event[:5])
