"""The JSON of requests and responses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, with_config
from typing_extensions import TypedDict

from driftbandits._common.checks import LARGEST_REWARD, LEAST_SECONDS, LONGEST_NAME
from driftbandits.live.decisions import Outcome
from driftbandits.live.units import LONGEST_UNIT
from driftbandits.policies.registry import DEFAULT
from driftbandits.store.experiments import LEAST_KEPT, LONGEST_TITLE

MOST_ARMS = 1000
Reward = Annotated[float, Field(ge=-LARGEST_REWARD, le=LARGEST_REWARD, allow_inf_nan=False, description="A number.")]
Seconds = Annotated[float, Field(ge=LEAST_SECONDS, le=LARGEST_REWARD, allow_inf_nan=False)]
Kept = Annotated[float, Field(ge=LEAST_KEPT, le=LARGEST_REWARD, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Id = Annotated[str, Path(description="The experiment's id.")]
ExperimentId = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]


Timeout = Annotated[
    Seconds | None, Field(description="Seconds after which a Decision is settled without its reward; null: never.")
]
Default = Annotated[
    Reward | None,
    Field(description="Learnt in place of a reward that never came; null: it is dropped. Unless given: 0."),
]
Range = Annotated[
    tuple[Reward, Reward] | None,
    Field(
        strict=False,
        description="The least and the largest reward; others are refused. Unless given: [0, 1] where the policy "
        "assumes it, null (any) where it does not.",
    ),
]


Late = Annotated[
    bool,
    Field(
        description="Rewards come late: a young Decision without one is weighed by its age, and no failure yet. For "
        "policies that take rewards in any order; needs a timeout and a default_reward.",
    ),
]
Title = Annotated[str, Field(max_length=LONGEST_TITLE, pattern="^[^\\x00]*$")]
Drift = Annotated[
    Share | None, Field(description="How fast means move a step, at most: an alarm compares. No policy learns it.")
]


def _without_default(schema: dict[str, Any]) -> None:
    """What it is unless given depends on other fields: a client that sends what the schema says would be refused."""
    schema.pop("default")


STRICT = ConfigDict(extra="forbid", strict=True)
"""Only the declared fields, of exactly the declared type: "1" is not a number."""


class Request(BaseModel):
    """A body."""

    model_config = STRICT


Keep = Annotated[
    Kept | None,
    Field(description="Seconds after which events are erased, and only what was learnt from them stays; null: never."),
]


Sticky = Annotated[
    Seconds | None,
    Field(description="Seconds for which a unit gets its arm again; null: every Decision is chosen anew."),
]


class NewExperiment(Request):
    """An experiment to create."""

    id: ExperimentId
    arms: Annotated[list[Name], Field(min_length=1, max_length=MOST_ARMS)]
    title: Title = ""
    policy: Annotated[str, Field(description="A policy's name.")] = DEFAULT
    policy_settings: Annotated[
        dict[str, Any], Field(description='Of the policy, such as {"horizon": 100000, "drift": 0.00001}.')
    ] = {}
    seed: Annotated[int, Field(ge=0, lt=2**64, description="Choices repeat when it does.")] = 0
    timeout: Timeout = 86_400.0  # Decisions that wait for ever fill the memory, and then no more can be asked
    default_reward: Annotated[Default, Field(json_schema_extra=_without_default)] = 0.0
    reward_range: Range = None
    explore: Annotated[
        Share,
        Field(
            description="Share of Decisions that fall on any arm alike. Above 0, such as 0.1, replay can use the log."
        ),
    ] = 0.0
    sticky: Sticky = None
    late: Late = False
    drift: Drift = None
    keep: Keep = None


class Changes(Request):
    """What is to be changed; what is not given stays."""

    timeout: Timeout = None
    default_reward: Default = None
    reward_range: Range = None
    explore: Annotated[Share, Field(json_schema_extra=_without_default)] = 0.0
    late: Annotated[Late, Field(json_schema_extra=_without_default)] = False
    policy: Annotated[
        str,
        Field(
            description="Another one: it learns the last 1,000 rewards and takes over.",
            json_schema_extra=_without_default,
        ),
    ] = ""
    policy_settings: Annotated[
        dict[str, Any], Field(description="Its settings.", json_schema_extra=_without_default)
    ] = {}
    sticky: Sticky = None
    title: Annotated[Title, Field(json_schema_extra=_without_default)] = ""
    drift: Drift = None
    keep: Keep = None


class NewArm(Request):
    """An arm to add."""

    arm: Name


class Arm(Request):
    """What an arm is to be: "on", "off" (not chosen until it is on again) or "removed" (never again)."""

    arm: Name
    status: Literal["on", "off", "removed"]


class Force(Request):
    """The arm that all Decisions get, whatever the policy wants; null lets the policy choose again."""

    arm: Name | None


class HoldOut(Request):
    """The share of Decisions that always gets ``arm``, by chance and whatever the policy wants; 0 for none."""

    share: Share
    arm: Name | None = None


class Lift(BaseModel):
    """What the policy gains over the holdout, with a 95 % interval; null while there are fewer than 20 rewards.

    ``unknown`` Decisions of the same time have no reward: they wait, or were dropped. Where only successes are told,
    they are failures not counted yet, and while they are many the lift is too near 0.
    """

    lift: float | None
    low: float | None
    high: float | None
    policy: float | None
    holdout: float | None
    rewards: int
    held_out: int
    unknown: int


class Correction(Request):
    """The right reward of a Decision that has one, or null to retract it."""

    id: Annotated[str, Field(max_length=100, description="The Decision's id.")]
    reward: Reward | None


class Corrections(Request):
    """Rewards to correct, all at once."""

    corrections: Annotated[list[Correction], Field(min_length=1, max_length=10_000)]


Unit = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_UNIT, description="Who it is for, such as a visitor; kept as a keyed hash."),
]
Metadata = Annotated[dict[str, Any], Field(description="At most 1,024 bytes as JSON; for exports.")]


class Ask(Request):
    """What an ask may come with: who it is for, and what exports are to tell of it."""

    unit: Unit | None = None
    metadata: Metadata | None = None


class AskMany(Request):
    """How many Decisions, all made from what is known now; with one unit and one metadata each, or null, if given."""

    count: Annotated[int, Field(ge=1, description="At most 10,000, unless the service is set otherwise.")]
    units: list[Unit | None] | None = None
    metadata: list[Metadata | None] | None = None


class Erase(Request):
    """The unit to erase."""

    unit: Unit


class Erased(BaseModel):
    """How many Decisions the unit had, and what exports of before call it."""

    unit: str
    decisions: int


# Rewards come by the hundred, and dictionaries are cheaper than models.
@with_config(STRICT)
class Tell(TypedDict):
    """The reward of one Decision."""

    id: Annotated[str, Field(max_length=100, description="The Decision's id.")]
    reward: Reward


@with_config(STRICT)
class TellMany(TypedDict):
    """The rewards of many Decisions."""

    rewards: Annotated[list[Tell], Field(min_length=1)]


class Decision(BaseModel):
    """Pull ``arm``, and tell the reward under ``id`` before ``due`` (seconds since 1970; null: any time)."""

    id: str
    arm: str
    step: int
    due: float | None


class Decisions(BaseModel):
    """Many Decisions."""

    decisions: list[Decision]


class Told(BaseModel):
    """The outcome of a reward."""

    outcome: Outcome


class ToldMany(BaseModel):
    """The outcome of each reward, in order."""

    outcomes: list[Outcome]


class Experiment(BaseModel):
    """An experiment as it was declared, and its status.

    ``arms`` are all that there ever were, ``statuses`` what each is now. ``step``, ``open`` and ``learnt`` count its
    Decisions, those that wait, and the rewards learnt; they are null where this service does not hold it, as is
    ``forced``, the arm that all Decisions get, and ``holdout``, a share and its arm. ``events`` is
    the length of its log, the first ``folded`` of which are past retention. ``warnings`` say what will soon need
    attention. ``first`` has what was declared before the first change, null if nothing was changed.
    """

    id: str
    title: str
    status: Literal["running", "paused", "archived"]
    arms: list[str]
    statuses: list[Literal["on", "off", "removed"]]
    policy: dict[str, Any]
    seed: int
    timeout: float | None
    default_reward: float | None
    reward_range: Annotated[list[float], Field(min_length=2, max_length=2)] | None
    explore: float
    sticky: float | None
    late: bool
    drift: float | None
    keep: float | None
    created: float
    events: int
    folded: int
    step: int | None
    open: int | None
    learnt: int | None
    forced: str | None
    holdout: Annotated[list[float | str], Field(min_length=2, max_length=2)] | None
    holder: str | None
    url: str | None
    warnings: list[str]
    first: dict[str, Any] | None


class Experiments(BaseModel):
    """Experiments in the order of their ids; ``next`` is the ``after`` of the next page, null on the last."""

    experiments: list[Experiment]
    next: str | None


class Deed(BaseModel):
    """What someone did to an experiment; ``who`` is the token's name, ``details`` what was given."""

    number: int
    time: float
    who: str
    did: str
    experiment: str | None
    details: Any


class Setting(BaseModel):
    """What a policy can be told."""

    name: str
    needed: bool
    default: Any


class PolicyChoice(BaseModel):
    """A policy that an experiment can have."""

    name: str
    about: str
    two_arms: bool
    settings: list[Setting]


class Status(BaseModel):
    """Of the service."""

    status: str


class Error(BaseModel):
    """A refusal. ``message`` names the value, the limit and what to do.

    When another service holds the experiment, ``holder`` and ``url`` say which, and where.
    """

    error: str
    message: str
    holder: str | None = None
    url: str | None = None
