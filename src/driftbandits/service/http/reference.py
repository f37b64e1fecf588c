"""The API's reference at /docs: Swagger UI, shipped with the package, which loads nothing from elsewhere."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

router = APIRouter(include_in_schema=False)
FOLDER = Path(__file__).with_name("swagger")
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
HEADERS = {
    # The pictures in its style sheet are data:. It sets styles by script alone, which needs no exception.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


@router.get("/docs")
async def reference() -> Response:
    """The page."""
    return Response(_file("index.html")[0], headers=HEADERS, media_type="text/html")


@router.get("/docs/{name}")
async def file(request: Request, name: str) -> Response:
    """Its files: the large ones compressed, unless someone cannot read that."""
    path = FOLDER / name
    if path.parent != FOLDER or path.suffix not in KINDS:
        raise HTTPException(404, f"there is no file {name!r}")
    data, compressed = _file(name)
    headers = HEADERS
    if compressed:
        headers = HEADERS | {"Cache-Control": "max-age=86400", "Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers |= {"Content-Encoding": "gzip"}
        else:
            data = gzip.decompress(data)
    return Response(data, headers=headers, media_type=KINDS[path.suffix])


@cache
def _file(name: str) -> tuple[bytes, bool]:
    """A file, and whether it is compressed."""
    compressed = FOLDER / f"{name}.gz"
    if compressed.is_file():
        return compressed.read_bytes(), True
    if (FOLDER / name).is_file():
        return (FOLDER / name).read_bytes(), False
    raise HTTPException(404, f"there is no file {name!r}")
