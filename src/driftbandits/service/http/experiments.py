"""Create, list, look at, pause, resume, archive and export experiments."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from driftbandits.errors import InputError
from driftbandits.live.decisions import UnknownDecisionError, step_of
from driftbandits.live.learners import OFF, ON, REMOVED
from driftbandits.live.session import Session
from driftbandits.policies import POLICIES, Policy, make_policy
from driftbandits.service.core.held import Held
from driftbandits.service.core.state import Service, admit, audited
from driftbandits.service.http import models
from driftbandits.service.http.answers import LONGEST_KEY, digest_of, key_of
from driftbandits.service.http.defaults import declared
from driftbandits.service.http.direct import REFUSALS
from driftbandits.service.http.streams import Stream
from driftbandits.store import Answer, Token, UnknownExperimentError
from driftbandits.store import Experiment as Stored
from driftbandits.store.answers import NO_EXPERIMENT
from driftbandits.store.experiments import check_id, why_never

router = APIRouter(prefix="/v1/experiments", tags=["Experiments"], responses=REFUSALS)
audit = APIRouter(tags=["Operations"])
KINDS = {"jsonl": "application/x-ndjson", "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
EXPORTED: dict[str, dict[str, Any]] = {kind: {"schema": {"type": "string"}} for kind in KINDS.values()}
EXPORTED[KINDS["parquet"]]["schema"]["format"] = "binary"
SHOW = TypeAdapter(models.Experiment)
LIVE = ("timeout", "default_reward", "reward_range", "explore", "sticky", "late")
"""Settings that are the Session's."""
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=LONGEST_KEY)]


@router.post("", status_code=201, response_model=models.Experiment)
async def create_experiment(request: Request, new: models.NewExperiment, key: Key = None) -> Response:
    """Create an experiment."""
    service = await admit(request, "admin", new.id)
    policy = _policy(new.policy, new.policy_settings)
    settings = declared(new, policy)
    if "keep" not in new.model_fields_set:
        settings["keep"] = service.settings.keep

    async def make(answer: Any = None) -> str:
        audit = audited(request, "created", new.id, new.model_dump(mode="json", exclude={"id"}, exclude_unset=True))

        def store() -> str:
            return _shown(service, service.store.create(new.id, policy=policy, answer=answer, audit=audit, **settings))

        return await service.holdings.slowly(store)  # a policy that nobody has used yet is compiled, for many seconds

    if key is None:
        text = await make()
    else:
        digest, mine = digest_of(request.scope["path"], await request.body()), key_of(request.scope["token"], key)

        def keep(created: Stored) -> Answer:
            return Answer(mine, digest, _shown(service, created))

        text = await service.answers.once(NO_EXPERIMENT, mine, digest, lambda: make(keep))
    where = f"{service.settings.root_path}/v1/experiments/{new.id}"
    return Response(text, 201, {"Location": where}, "application/json")


@router.get("")
async def list_experiments(
    request: Request,
    after: Annotated[str, Query(max_length=64, description="Begin behind this id.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> models.Experiments:
    """Experiments in the order of their ids."""
    service = await admit(request, "read", "")
    token: Token | None = request.scope["token"]
    only = None if token is None else token.experiments
    found = await service.holdings.in_thread(service.store.experiments.all, after.replace("\0", ""), limit + 1, only)
    shown = [show(service, each) for each in found[:limit]]
    return models.Experiments(experiments=shown, next=found[limit - 1].id if len(found) > limit else None)


@router.get("/{experiment}")
async def get_experiment(request: Request, experiment: models.Id) -> models.Experiment:
    """One experiment."""
    service = await admit(request, "read")
    return show(service, await _stored(service, experiment))


@router.patch("/{experiment}")
async def change_experiment(request: Request, experiment: models.Id, changes: models.Changes) -> models.Experiment:
    """Change settings while it runs. A new timeout counts for open Decisions too, from the moment each was asked."""
    service = await admit(request, "admin")
    given = changes.model_dump(include=changes.model_fields_set)
    live = {name: given[name] for name in LIVE if name in given}
    if "policy" in given:
        live["policy"] = _policy(given["policy"], given.get("policy_settings", {}))
    elif "policy_settings" in given:
        raise InputError('policy_settings are those of a policy: name it too, as in {"policy": "SWUCB", ...}')
    held = await service.holdings.get(experiment)
    held.check_tells()

    def work(held: Held) -> str:
        held.session.change(**live)
        return ""

    described = {name: given[name] for name in ("title", "drift", "keep") if name in given}
    if live:  # in the log, and so in another transaction than the rest: each has its own entry
        logged = {name: value for name, value in given.items() if name not in described}
        audit = audited(request, "changed", experiment, logged)
        await service.holdings.durably(held, work, lambda _: audit, heavy="policy" in live)
    if described:
        audit = audited(request, "changed", experiment, described)
        await service.holdings.in_thread(
            partial(service.store.experiments.update, experiment, **described, audit=audit)
        )
        held.writer.experiment = replace(held.writer.experiment, **described)
        if "drift" in given:
            held.view.watch(given["drift"])
    return show(service, await _stored(service, experiment))


@router.post("/{experiment}/arms")
async def add_arm(request: Request, experiment: models.Id, new: models.NewArm) -> models.Experiment:
    """Add an arm, which may be chosen from the next ask on."""
    return await _change_arms(request, experiment, new, lambda session: session.add_arm(new.arm))


@router.patch("/{experiment}/arms")
async def set_arm(request: Request, experiment: models.Id, given: models.Arm) -> models.Experiment:
    """Disable, enable or remove an arm."""
    verb = {ON: "enable_arm", OFF: "disable_arm", REMOVED: "remove_arm"}[given.status]
    return await _change_arms(request, experiment, given, lambda session: getattr(session, verb)(given.arm))


@router.put("/{experiment}/force")
async def force_arm(request: Request, experiment: models.Id, given: models.Force) -> models.Experiment:
    """The kill switch: all Decisions get one arm, or the policy chooses again."""
    return await _change_arms(request, experiment, given, lambda session: session.force_arm(given.arm))


@router.put("/{experiment}/holdout")
async def hold_out(request: Request, experiment: models.Id, given: models.HoldOut) -> models.Experiment:
    """Hold out a share of Decisions, which always get one arm."""
    return await _change_arms(request, experiment, given, lambda session: session.hold_out(given.share, given.arm))


@router.get("/{experiment}/lift")
async def lift(request: Request, experiment: models.Id) -> models.Lift:
    """What the policy gains over the holdout, of all rewards since there is one."""
    service = await admit(request, "read")
    held = await service.holdings.get(experiment)
    return models.Lift(**held.session.lift()._asdict())


async def _change_arms(
    request: Request, experiment: str, given: models.Request, change: Callable[[Session], None]
) -> models.Experiment:
    service = await admit(request, "admin")
    held = await service.holdings.get(experiment)
    held.check_tells()

    def work(held: Held) -> str:
        change(held.session)
        return ""

    audit = audited(request, "changed arms", experiment, given.model_dump())
    heavy = held.session.policy.arms_change == "anew"
    await service.holdings.durably(held, work, lambda _: audit, heavy)
    return show(service, await _stored(service, experiment))


@router.post("/{experiment}/correct")
async def correct_rewards(request: Request, experiment: models.Id, body: models.Corrections) -> models.Experiment:
    """Put other rewards in the place of those that were learnt, or none. The log keeps both; all is learnt anew."""
    service = await admit(request, "admin")
    steps = [(step_of(each.id, experiment), each) for each in body.corrections]
    for step, each in steps:
        if step is None:
            raise UnknownDecisionError(f"there is no Decision {each.id!r} in {experiment!r}")
    audit = audited(request, "corrected", experiment, body.model_dump()["corrections"][:100])
    await service.holdings.correct(experiment, [(step or 0, each.reward) for step, each in steps], audit)
    return show(service, await _stored(service, experiment))


@router.post("/{experiment}/erase")
async def erase_unit(request: Request, experiment: models.Id, given: models.Erase) -> models.Erased:
    """Erase what belongs to a unit: its hash and the metadata of its Decisions. These stay, with nobody's name."""
    service = await admit(request, "admin")
    unit, decisions = await service.holdings.erase(experiment, given.unit, audited(request, "erased", experiment))
    return models.Erased(unit=unit, decisions=decisions)


@router.delete("/{experiment}", status_code=204)
async def delete_experiment(
    request: Request,
    experiment: models.Id,
    confirm: Annotated[str, Query(max_length=64, description="The same id once more.")] = "",
) -> Response:
    """Delete it and all its data, for ever."""
    service = await admit(request, "admin")
    stored = await _stored(service, experiment)
    if confirm != experiment:
        raise InputError(
            f"this deletes {stored.last_seq:,} events of {experiment!r} for ever; if you mean it, add "
            f"?confirm={experiment}"
        )
    await service.holdings.delete(experiment, audited(request, "deleted", experiment))
    return Response(status_code=204)


@router.post("/{experiment}/pause")
async def pause_experiment(request: Request, experiment: models.Id) -> models.Experiment:
    """Make no Decisions for a while; rewards are still accepted."""
    return await _set_status(request, experiment, "paused")


@router.post("/{experiment}/resume")
async def resume_experiment(request: Request, experiment: models.Id) -> models.Experiment:
    """Make Decisions again, after a pause or out of the archive."""
    return await _set_status(request, experiment, "running")


@router.post("/{experiment}/archive")
async def archive_experiment(request: Request, experiment: models.Id) -> models.Experiment:
    """End it: no Decisions, no rewards. The log stays."""
    return await _set_status(request, experiment, "archived")


@router.get(
    "/{experiment}/export",
    response_class=StreamingResponse,
    responses={200: {"description": "The log.", "content": EXPORTED}},
)
async def export_experiment(
    request: Request,
    experiment: models.Id,
    format: Literal["jsonl", "csv", "parquet"] = "jsonl",
    since: Annotated[int, Query(ge=0, lt=2**63, description="Only Decisions with events after this one.")] = 0,
) -> StreamingResponse:
    """The log, one row a Decision, sent while it is read. X-Last-Event is the next ``since``."""
    service = await admit(request, "read")
    stored = await _stored(service, experiment)
    pieces, end = await service.exports.start(experiment, format, since, request.scope["token"])
    named = {"Content-Disposition": f'attachment; filename="{experiment}.{format}"'}
    named["X-Last-Event"] = str(stored.last_seq)
    return Stream(pieces, end, headers=named, media_type=KINDS[format])


@audit.get("/v1/audit", responses=REFUSALS)
async def list_deeds(
    request: Request,
    after: Annotated[int, Query(ge=0, lt=2**63, description="Begin behind this number.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[models.Deed]:
    """Who created, changed, corrected, paused, archived, erased or deleted what."""
    service = await admit(request, "admin")
    found = await service.holdings.in_thread(service.store.audit.entries, after, limit)
    return [models.Deed(**deed._asdict()) for deed in found]


async def _set_status(request: Request, id: str, status: str) -> models.Experiment:
    service = await admit(request, "admin")
    held = await service.holdings.get(id)  # only the service that makes its Decisions can stop them
    await service.holdings.in_thread(service.store.experiments.set_status, id, status, audited(request, status, id))
    held.status = status
    return show(service, await _stored(service, id))


async def _stored(service: Service, id: str) -> Stored:
    try:
        check_id(id)
    except InputError:
        raise UnknownExperimentError(f"there is no experiment {id!r}") from None
    return await service.holdings.in_thread(service.store.experiments.get, id)


def show(service: Service, stored: Stored) -> models.Experiment:
    """An experiment as the Store has it, with what is in memory here."""
    declared = {name: getattr(stored, name) for name in models.Experiment.model_fields if hasattr(stored, name)}
    held = service.holdings.held.get(stored.id)
    live = {
        name: getattr(held.session, name) if held else None for name in ("step", "open", "learnt", "forced", "holdout")
    }
    of_policy = why_never(json.dumps(stored.policy)), held.session.past_horizon() if held else None
    warnings = [each for each in of_policy if each is not None] + (held.warnings() if held else [])
    return models.Experiment(**declared | live, events=stored.last_seq, warnings=warnings)


def _shown(service: Service, stored: Stored) -> str:
    return SHOW.dump_json(show(service, stored)).decode()


def _policy(name: str, settings: dict[str, Any]) -> Policy:
    if name in POLICIES:
        known = [field.name for field in fields(POLICIES[name])]  # type: ignore[arg-type]
        for key, value in settings.items():
            if key not in known:
                raise InputError(f"{name} has no setting {key!r}; it has {', '.join(known) or 'none'}")
            if not isinstance(value, bool | int | float | str | None):
                raise InputError(f"{key} of {name} must be a number, a text, true, false or null; got {value!r}")
    try:
        return make_policy(name, **settings)
    except InputError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InputError(f"{name} cannot be made from {settings!r}: {error}") from None
