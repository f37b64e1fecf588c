"""The OpenAPI description: what FastAPI finds, and what it cannot know: tokens, their scopes, bodies read directly."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from driftbandits.service.http import models

TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of `driftbandits token create`, or the one that the first start printed. Operations name "
    "the scope that they need: read, write, which includes read, or admin, which includes both.",
}
OPEN = ("check_health", "check_readiness")
"""Operations that need no token."""
READ = (
    "explain",
    "list_experiments",
    "get_experiment",
    "export_experiment",
    "lift",
    "list_policies",
    "read_metrics",
)
WRITE = ("ask", "ask_many", "tell", "tell_many")
"""All others need the scope admin."""
BODIES = {"ask": models.Ask, "ask_many": models.AskMany, "tell": models.Tell, "tell_many": models.TellMany}
"""What the operations of ``decisions.fast`` read by themselves."""
EXAMPLES: dict[str, Any] = {
    "NewExperiment": {"id": "button", "arms": ["red", "blue"]},
    "Ask": {"unit": "user-17", "metadata": {"page": "home"}},
    "AskMany": {"count": 2},
    "Erase": {"unit": "user-17"},
    "Tell": {"id": "button-1", "reward": 1},
    "TellMany": {"rewards": [{"id": "button-2", "reward": 0}, {"id": "button-3", "reward": 1}]},
    "Corrections": {"corrections": [{"id": "button-1", "reward": 0}]},
    "Changes": {"timeout": 3600, "default_reward": 0, "late": True},
    "NewArm": {"arm": "green"},
    "Arm": {"arm": "green", "status": "off"},
    "Force": {"arm": "red"},
    "HoldOut": {"share": 0.1, "arm": "red"},
    "Decision": {"id": "button-1", "arm": "red", "step": 1, "due": 1767225600.0},
}
"""One for each shape that people send, or see first; they can be tried in the order of the operations."""
PARAMETERS = {"experiment": "button", "decision": "button-1"}
TAGS = [
    {"name": "Decisions", "description": "Ask which arm to pull, tell its reward late or never, see why."},
    {"name": "Experiments", "description": "Create, change, pause, correct, export and delete."},
    {"name": "Operations", "description": "For probes, Prometheus and audits."},
]


def operation_id(route: APIRoute) -> str:
    """Operations are called as their functions are: a generated client then has ``ask``, ``tell``, ..."""
    return route.name


def describe(app: FastAPI, tokens: bool) -> None:
    """Let ``app`` describe itself; ``tokens``: whether requests need one."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _made(app, tokens)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def scope_of(operation: str) -> str | None:
    """The scope that an operation needs; None where it needs no token."""
    if operation in OPEN:
        return None
    return "read" if operation in READ else "write" if operation in WRITE else "admin"


def _made(app: FastAPI, tokens: bool) -> dict[str, Any]:
    found = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        tags=TAGS,
        servers=app.servers,
    )
    parts = found["components"]
    for body in BODIES.values():
        schema = TypeAdapter(body).json_schema(ref_template="#/components/schemas/{model}")
        parts["schemas"] |= schema.pop("$defs", {}) | {schema["title"]: schema}
    for name, example in EXAMPLES.items():
        parts["schemas"][name]["examples"] = [example]
    for operations in found["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] in PARAMETERS:
                    parameter["example"] = PARAMETERS[parameter["name"]]
            operation["summary"] = operation["description"].partition("\n")[0].rstrip(".")
            scope = scope_of(operation["operationId"])
            if scope is not None:
                operation["description"] = f"{operation['description']}\n\nScope: {scope}."
            if tokens:
                operation["security"] = [] if scope is None else [{"token": [scope]}]
    if tokens:
        parts["securitySchemes"] = {"token": TOKEN}
    return found
