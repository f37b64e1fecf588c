"""Ask, tell, and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from driftbandits._common.checks import shown
from driftbandits.errors import InputError
from driftbandits.live.decisions import Decision, Outcome, TooOldError, UnknownDecisionError, step_of
from driftbandits.live.explanation import Explanation
from driftbandits.live.outcomes import TAKEN
from driftbandits.service.core.held import Held
from driftbandits.service.core.state import Service, admit, idempotency_key
from driftbandits.service.http import models
from driftbandits.service.http.direct import REFUSALS, Direct, Json, described

PREFIX = "/v1/experiments/{experiment}"
router = APIRouter(prefix=PREFIX, tags=["Decisions"])
fast = APIRouter(prefix=PREFIX, tags=["Decisions"], route_class=Direct)

MOST_DRAWS, MOST_IN_TURN, MOST_NOTED = 500_000, 1_000, 1_000
"""Looks at an arm to choose, rewards learnt one by one, and asks for units or with metadata, that take the event loop
some milliseconds; more of them are left to a thread."""

ASK, ASK_MANY = TypeAdapter(models.Ask).validator, TypeAdapter(models.AskMany).validator
TELL, TELL_MANY = TypeAdapter(models.Tell).validator, TypeAdapter(models.TellMany).validator
Pair = tuple[str, float]
_pair: Callable[[models.Tell], Pair] = itemgetter("id", "reward")
_first = itemgetter(0)
_name = lru_cache(10_000)(json.JSONEncoder().encode)
"""Of an arm, as JSON."""


@fast.post("/ask", **described(models.Decision, "Ask", required=False))
async def ask(request: Request) -> Response:
    """Which arm to pull now; for a unit that was asked for before, the one that it has, if the experiment is sticky."""
    service = await admit(request, "write")
    body = await request.body()
    given = ASK.validate_json(body) if body else None

    def work(held: Held) -> str:
        held.check_asks()
        return _decisions([held.session.ask() if given is None else held.session.ask(given.unit, given.metadata)])

    response = await _perform(service, request, body, work, private=given is not None)
    service.metrics.count_asks(1)
    return response


@fast.post("/ask_many", **described(models.Decisions, "AskMany"))
async def ask_many(request: Request) -> Response:
    """So many Decisions at once, all made from what is known now."""
    service = await admit(request, "write")
    body = await request.body()
    given = ASK_MANY.validate_json(body)
    count = _check_batch(service, given.count)
    noted = given.units is not None or given.metadata is not None

    def work(held: Held) -> str:
        held.check_asks()
        made = held.session.ask_many(count, given.units, given.metadata)
        return f'{{"decisions":[{_decisions(made)}]}}'

    def heavy(held: Held) -> bool:
        return held.session.draws(count) > MOST_DRAWS or (noted and count > MOST_NOTED)

    response = await _perform(service, request, body, work, heavy, private=noted)
    service.metrics.count_asks(count)
    return response


@fast.post("/tell", **described(models.Told, "Tell"))
async def tell(request: Request) -> Response:
    """The reward of a Decision: now, late, or again."""
    service = await admit(request, "write")
    body = await request.body()
    told = _pair(TELL.validate_json(body))
    known = await _forgotten(service, request, [told])

    def work(held: Held) -> str:
        held.check_tells()
        outcome = _take(service, held, [told], known)[0]
        if outcome in TAKEN:
            return f'{{"outcome":"{outcome}"}}'
        raise held.session.refusal(outcome, *told)

    return await _perform(service, request, body, work)


@fast.post("/tell_many", **described(models.ToldMany, "TellMany"))
async def tell_many(request: Request) -> Response:
    """Many rewards at once, and the outcome of each; those that cannot be accepted change nothing."""
    service = await admit(request, "write")
    body = await request.body()
    rewards = list(map(_pair, TELL_MANY.validate_json(body)["rewards"]))
    _check_batch(service, len(rewards))
    known = await _forgotten(service, request, rewards)

    def work(held: Held) -> str:
        held.check_tells()
        outcomes = '","'.join(_take(service, held, rewards, known))
        return f'{{"outcomes":["{outcomes}"]}}'

    def heavy(held: Held) -> bool:
        return len(rewards) > MOST_IN_TURN and not held.session.policy.any_order

    return await _perform(service, request, body, work, heavy)


SHORTCUTS = {"ask": ask, "ask_many": ask_many, "tell": tell, "tell_many": tell_many}


@router.get("/explain/{decision}", responses=REFUSALS, response_model=Explanation)
async def explain(
    request: Request, experiment: models.Id, decision: Annotated[str, Path(description="A Decision's id.")]
) -> dict[str, Any]:
    """Why that arm: what the policy knew and believed at that Decision, however long ago."""
    service = await admit(request, "read")
    held = service.holdings.here(experiment)
    if held is not None:
        try:
            return held.session.explain(decision).as_dict()
        except TooOldError:
            pass
    step = step_of(decision, experiment)
    if step is None:
        raise UnknownDecisionError(f"there is no Decision {decision!r} in {experiment!r}")
    return (await service.holdings.slowly(service.store.history.explain, experiment, step)).as_dict()


async def _perform(
    service: Service,
    request: Request,
    body: bytes,
    work: Callable[[Held], str],
    heavy: Callable[[Held], bool] | None = None,
    private: bool = False,
) -> Response:
    path, key = request.scope["path"], idempotency_key(request)
    text = await service.perform(request.path_params["experiment"], path, key, body, work, heavy, private)
    return Json(text)


def _take(service: Service, held: Held, rewards: Sequence[Pair], known: dict[int, Outcome]) -> list[Outcome]:
    outcomes = held.session._tell(rewards)
    for index, outcome in known.items():
        outcomes[index] = outcome
    service.metrics.count_tells(outcomes)
    return outcomes


async def _forgotten(service: Service, request: Request, rewards: Sequence[Pair]) -> dict[int, Outcome]:
    """What becomes of rewards whose Decisions the Session no longer remembers: only the log knows."""
    id = request.path_params["experiment"]
    session = (service.holdings.here(id) or await service.holdings.get(id)).session
    if all(map(session._open.__contains__, map(_first, rewards))):  # as nearly always: found out without a call each
        return {}
    asked = {}
    for index, (decision, reward) in enumerate(rewards):
        if not session.remembers(decision):
            step = step_of(decision, id)
            if step is not None and step <= session.step:
                asked[index] = step, reward
    if not asked:
        return {}
    found = await service.holdings.slowly(service.store.history.outcomes, id, list(asked.values()))
    return dict(zip(asked, found, strict=True))


def _decisions(made: Sequence[Decision]) -> str:
    """Decisions that were made at once, and are due at once."""
    due = made[0].due
    end = f',"due":{"null" if due is None else repr(due)}}}'
    return ",".join([f'{{"id":"{id}","arm":{_name(arm)},"step":{step}{end}' for id, arm, step, _ in made])


def _check_batch(service: Service, count: int) -> int:
    most = service.settings.most_batch
    if count > most:
        raise InputError(f"one request holds at most {most:,}; got {shown(count)}: send several requests")
    return count
