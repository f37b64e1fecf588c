"""Experiments as they were declared."""

from __future__ import annotations

import functools
import json
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import EllipsisType
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, false, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from driftbandits._common.checks import LARGEST_REWARD, check_drift, check_whole, is_number, shown
from driftbandits.errors import InputError
from driftbandits.instances.describe import build, describe
from driftbandits.live.decisions import ArmChanged, Changed, LateSwitched, PolicyChanged, StickyChanged
from driftbandits.live.learners import ON
from driftbandits.live.session import Session
from driftbandits.policies import Policy
from driftbandits.store.answers import NO_EXPERIMENT, Answer, Answers
from driftbandits.store.audit import AuditEntry, record
from driftbandits.store.database import Database
from driftbandits.store.errors import DamagedStoreError, ExperimentExistsError, UnknownExperimentError
from driftbandits.store.schema import LARGEST_NUMBER, experiments, folded, writers

LEAST_KEPT = 3_600
"""Seconds of events that an experiment keeps at least, if it erases any."""
STATUSES = ("running", "paused", "archived")
DELETED = "deleted"
"""Of an experiment nothing is left but its number, so that no writer of before can take another one for it."""
LONGEST_TITLE = 200
"""Characters; the dashboard shows a title in one line."""
REMEMBER = 10_000
"""How many answered Decisions a Session of the Store remembers; about older ones it asks the log."""


FIRST = ("policy", "arms", "explore", "timeout", "default_reward", "reward_range", "sticky", "late")
"""What of an experiment may be other than it was at first."""
Redeclared = Changed | ArmChanged | PolicyChanged | StickyChanged | LateSwitched
"""Events after which an experiment is declared otherwise."""
CHANGEABLE = ("timeout", "default_reward", "reward_range")
"""What of an experiment can be changed while it runs."""


@dataclass(frozen=True)
class Experiment:
    """What was declared of an experiment, and where its log and its writer stand.

    ``policy`` is the policy's description as JSON. ``arms`` are all that ever were, ``statuses`` what each is now.
    ``drift`` is the delta that its owner declared, if any; no policy learns it from here, but an alarm may compare.
    ``keep`` is for how many seconds events are kept, None for ever; the first ``folded`` of them were erased.
    ``unit_key`` is the secret that hashes of units are made with. ``holder`` is None when nobody is the writer.
    ``first`` has what was declared before the first change, if there was one.
    """

    key: int
    id: str
    title: str
    policy: dict[str, Any]
    arms: list[str]
    statuses: list[str]
    seed: int
    timeout: float | None
    default_reward: float | None
    reward_range: tuple[float, float] | None
    explore: float
    drift: float | None
    created: float
    status: str
    last_seq: int
    epoch: int
    holder: str | None
    url: str | None
    lease_until: float
    unit_key: str = field(repr=False)
    sticky: float | None = None
    keep: float | None = None
    folded: int = 0
    late: bool = False
    first: dict[str, Any] | None = None

    def secret(self) -> str:
        """The ``unit_key``. Without it no unit is recognised, so nothing takes its place."""
        if not self.unit_key:
            raise DamagedStoreError(
                f"{self.id!r} has lost unit_key, the secret that hashes of its units are made with: restore a backup"
            )
        return self.unit_key

    def session(self) -> Session:
        """The Session before its first event."""
        declared = {name: getattr(self, name) for name in FIRST} | (self.first or {})
        policy = build(declared.pop("policy"))
        told: dict[str, Any] = {"name": self.id, "remember": REMEMBER, "unit_key": self.secret()}
        return Session(policy, seed=self.seed, **declared, **told)


EVERYTHING = (
    select(
        experiments,
        writers.c.last_seq,
        writers.c.epoch,
        writers.c.holder,
        writers.c.url,
        writers.c.lease_until,
        func.coalesce(folded.c.seq, 0).label("folded"),
    )
    .join_from(experiments, writers, (experiments.c.key == writers.c.experiment) & (experiments.c.status != DELETED))
    .outerjoin(folded, folded.c.experiment == experiments.c.key)
)


class Experiments:
    """The experiments."""

    def __init__(self, database: Database, answers: Answers) -> None:
        self._database, self._answers = database, answers

    def add(
        self,
        id: str,
        session: Session,
        title: str,
        drift: float | None,
        keep: float | None,
        answer: Callable[[Experiment], Answer] | None,
        audit: AuditEntry | None,
    ) -> Experiment:
        """Declare an experiment that begins as this Session; with ``answer``, also what is answered to its creator."""
        check_id(id)
        declared = {
            "id": id,
            "title": _check_title(title),
            "policy": json.dumps(describe(session.policy)),
            "arms": json.dumps(session.arms),
            "seed": str(session.seed),
            "timeout": session.timeout,
            "default_reward": None if session.default_reward is None else float(session.default_reward),
            "explore": session.explore,
            "sticky": session.sticky,
            "unit_key": secrets.token_hex(16),
            "late": session.late,
            **_limits(session.reward_range),
            "drift": None if drift is None else check_drift(drift),
            "keep": check_keep(keep),
            "created": self._database.clock(),
            "status": "running",
        }
        with self._database.writing() as connection:
            try:
                key = connection.execute(insert(experiments), declared).inserted_primary_key[0]  # type: ignore[index]
            except IntegrityError:
                raise ExperimentExistsError(
                    f"there is an experiment {id!r} already: choose another id, or open that one"
                ) from None
            connection.execute(insert(writers), {"experiment": key, "last_seq": 0, "epoch": 0, "lease_until": 0.0})
            created = _experiment(connection.execute(EVERYTHING.where(experiments.c.key == key)).one())
            if answer is not None:
                self._answers.keep(connection, [(NO_EXPERIMENT, answer(created))])
            record(connection, created.created, audit)
        return created

    def all(self, after: str = "", limit: int | None = None, only: Sequence[str] | None = None) -> list[Experiment]:
        """Return all experiments in the order of their ids; with ``after`` and ``limit``, that many after that id.

        ``only``: ids, or beginnings of ids that end in "*", as a token has them; None for all.
        """
        if not isinstance(after, str):
            raise InputError(f"after must be the id of an experiment; got {shown(after)}")
        limit = None if limit is None else check_whole("limit", limit, 1, LARGEST_NUMBER)
        statement = EVERYTHING.where(experiments.c.id > after).order_by(experiments.c.id).limit(limit)
        if only is not None:
            statement = statement.where(or_(false(), *map(_is_one_of, only)))
        with self._database.reading() as connection:
            return [_experiment(row) for row in connection.execute(statement)]

    def get(self, id: str) -> Experiment:
        """Return one experiment; UnknownExperimentError if there is none of that id."""
        if not isinstance(id, str):
            raise self._unknown(id)
        with self._database.reading() as connection:
            row = connection.execute(EVERYTHING.where(experiments.c.id == id)).one_or_none()
        if row is None:
            raise self._unknown(id)
        return _experiment(row)

    def set_status(self, id: str, status: str, audit: AuditEntry | None = None) -> None:
        """Let it run, pause it, or archive it: "running", "paused" or "archived". The log stays."""
        if not isinstance(status, str) or status not in STATUSES:
            raise InputError(f"status must be one of {', '.join(STATUSES)}; got {shown(status)}")
        self._update(id, {"status": status}, audit)

    def update(
        self,
        id: str,
        *,
        title: str | None = None,
        drift: float | EllipsisType | None = ...,
        keep: float | EllipsisType | None = ...,
        audit: AuditEntry | None = None,
    ) -> None:
        """Change the title, the declared drift, which the drift alarm compares with, or how long events are kept.

        ``keep``: seconds after which ``retention.prune`` erases them; None: never. What is not given stays.
        """
        values: dict[str, Any] = {}
        if title is not None:
            values["title"] = _check_title(title)
        if not isinstance(drift, EllipsisType):
            values["drift"] = None if drift is None else check_drift(drift)
        if not isinstance(keep, EllipsisType):
            values["keep"] = check_keep(keep)
        if values:
            self._update(id, values, audit)

    def _update(self, id: str, values: dict[str, Any], audit: AuditEntry | None) -> None:
        if not isinstance(id, str):
            raise self._unknown(id)
        with self._database.writing() as connection:
            changed = connection.execute(update(experiments).where(experiments.c.id == id).values(**values))
            if not changed.rowcount:
                raise self._unknown(id)
            record(connection, self._database.clock(), audit)

    def _unknown(self, id: str) -> UnknownExperimentError:
        return UnknownExperimentError(f"there is no experiment {shown(id)} in {self._database.url}")


def _is_one_of(pattern: str) -> ColumnElement[bool]:
    """The id, or the beginning of ids that ends in *; LIKE would take small letters for large ones on SQLite."""
    id, beginning = experiments.c.id, pattern.removesuffix("*")
    return func.substr(id, 1, len(beginning)) == beginning if pattern.endswith("*") else id == pattern


def _check_title(title: Any) -> str:
    if not isinstance(title, str):
        raise InputError(f"title must be text; got {shown(title)}")
    if len(title) > LONGEST_TITLE:
        raise InputError(f"title must have at most {LONGEST_TITLE} characters; got {len(title):,}")
    return title


def check_keep(keep: float | None) -> float | None:
    """Seconds, or None.

    >>> check_keep(-1)
    Traceback (most recent call last):
    driftbandits.errors.InputError: keep must be at least 3,600 seconds, since a service erases once an hour, or None \
to keep all; got -1
    """
    if keep is not None and not (is_number(keep) and LEAST_KEPT <= keep <= LARGEST_REWARD):
        raise InputError(
            f"keep must be at least {LEAST_KEPT:,} seconds, since a service erases once an hour, or None to keep all; "
            f"got {shown(keep)}"
        )
    return None if keep is None else float(keep)


@functools.lru_cache(10_000)
def why_never(policy: str) -> str | None:
    """Why a policy of that description, as JSON, can't do what it is for; None if nothing speaks against it."""
    try:
        made: Policy = build(json.loads(policy))
    except InputError:  # of a class that is not here
        return None
    return made.why_never()


def check_id(id: str) -> None:
    """An id is part of URLs and of every Decision's id.

    >>> check_id("a b")
    Traceback (most recent call last):
    driftbandits.errors.InputError: an id has 1 to 64 letters, digits, "-" and "_", and begins with no sign; got 'a b'
    """
    if not (isinstance(id, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", id)):
        raise InputError(f'an id has 1 to 64 letters, digits, "-" and "_", and begins with no sign; got {shown(id)}')


def erase(connection: Connection, key: int) -> None:
    """Forget what was declared."""
    nothing = {"id": f":{key}", "title": "", "policy": "{}", "arms": "[]", "first": None, "status": DELETED}
    nothing["unit_key"] = None
    connection.execute(update(experiments).where(experiments.c.key == key).values(nothing))


def redeclare(connection: Connection, experiment: Experiment, changed: Sequence[Redeclared]) -> Experiment:
    """The experiment with the settings of those events, in the database too."""
    before = {name: getattr(experiment, name) for name in FIRST} | (experiment.first or {})
    new = replace(experiment, first=before)
    for event in changed:
        if isinstance(event, ArmChanged):
            arms, statuses = list(new.arms), list(new.statuses)
            arms[event.arm : event.arm + 1], statuses[event.arm : event.arm + 1] = [event.name], [event.status]
            new = replace(new, arms=arms, statuses=statuses)
        elif isinstance(event, PolicyChanged):
            new = replace(new, policy=describe(event.policy), explore=event.explore)
        elif isinstance(event, StickyChanged):
            new = replace(new, sticky=event.sticky)
        elif isinstance(event, LateSwitched):
            new = replace(new, late=event.on)
        else:
            new = replace(new, **{name: getattr(event, name) for name in CHANGEABLE})
    values = {"timeout": new.timeout, "default_reward": new.default_reward, "first": json.dumps(new.first)}
    listed = [arm if is_now == ON else [arm, is_now] for arm, is_now in zip(new.arms, new.statuses, strict=True)]
    values |= {"arms": json.dumps(listed), "policy": json.dumps(new.policy)}
    values |= {"explore": new.explore, "sticky": new.sticky, "late": new.late}
    mine = experiments.c.key == experiment.key
    connection.execute(update(experiments).where(mine).values(**values, **_limits(new.reward_range)))
    return new


def _limits(reward_range: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = reward_range or (None, None)
    return {"reward_low": low, "reward_high": high}


def _experiment(row: Row[Any]) -> Experiment:
    found = dict(row._mapping)
    for name in ("policy", "arms", "seed"):
        found[name] = json.loads(found[name])
    found["first"] = json.loads(found["first"]) if found["first"] else None
    arms = [(each, ON) if isinstance(each, str) else each for each in found["arms"]]
    found["arms"], found["statuses"] = [name for name, _ in arms], [is_now for _, is_now in arms]
    low, high = found.pop("reward_low"), found.pop("reward_high")
    return Experiment(**found, reward_range=None if low is None else (low, high))
