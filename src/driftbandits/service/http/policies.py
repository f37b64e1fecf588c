"""Which policies an experiment can have."""

from __future__ import annotations

from dataclasses import MISSING, fields

from fastapi import APIRouter
from starlette.requests import Request

from driftbandits.policies import POLICIES
from driftbandits.policies.registry import DEFAULT
from driftbandits.service.core.state import admit
from driftbandits.service.http.direct import REFUSALS
from driftbandits.service.http.models import PolicyChoice, Setting

router = APIRouter(tags=["Experiments"], responses=REFUSALS)


@router.get("/v1/policies")
async def list_policies(request: Request) -> list[PolicyChoice]:
    """The policies that an experiment can have, and what each can be told."""
    await admit(request, "read", "")
    return [
        PolicyChoice(
            name=name,
            about=(policy.__doc__ or "").strip().partition("\n")[0],
            two_arms=policy.arms[1] == 2,
            settings=[
                Setting(
                    name=field.name,
                    needed=field.default is MISSING,
                    default=None if field.default is MISSING else field.default,
                )
                for field in fields(policy)  # type: ignore[arg-type]
            ],
        )
        for name, policy in sorted(POLICIES.items(), key=lambda item: item[0] != DEFAULT)
        if name != "Oracle"  # it must be told what nobody knows
    ]
