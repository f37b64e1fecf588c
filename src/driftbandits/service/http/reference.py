"""The API's reference at /docs, made from the OpenAPI description: one page that loads nothing from elsewhere."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse

router = APIRouter()
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
TEMPLATE = Path(__file__).with_name("reference.html.j2")


@router.get("/docs", include_in_schema=False)
async def reference(request: Request) -> HTMLResponse:
    """The page."""
    return HTMLResponse(_page(json.dumps(request.app.openapi())), headers=HEADERS)


@cache
def _page(schema: str) -> str:
    from jinja2 import Environment

    api = json.loads(schema)
    operations = [
        {"method": method.upper(), "path": path, **operation, "fields": _fields(api, operation)}
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(api=api, operations=operations, shapes=api["components"]["schemas"], kind=_kind)


def _fields(api: dict[str, Any], operation: dict[str, Any]) -> list[dict[str, Any]]:
    """What the JSON body holds."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    if "$ref" in schema:
        schema = api["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    required = schema.get("required", [])
    return [
        {"name": name, "kind": _kind(field), "required": name in required, **field}
        for name, field in schema.get("properties", {}).items()
    ]


def _kind(field: dict[str, Any]) -> str:
    """A type in a word or two.

    >>> _kind({"anyOf": [{"type": "number"}, {"type": "null"}]})
    'number or null'
    """
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2])
    if "anyOf" in field:
        return " or ".join(map(_kind, field["anyOf"]))
    if "prefixItems" in field:
        return f"[{', '.join(map(_kind, field['prefixItems']))}]"
    if field.get("type") == "array":
        return f"list of {_kind(field['items'])}"
    if "enum" in field:
        return " or ".join(json.dumps(value) for value in field["enum"])
    return str(field.get("type", "anything"))
