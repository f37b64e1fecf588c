"""The page at /, its files, and the stream of server-sent events that keeps it live."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from driftbandits.errors import DriftbanditsError
from driftbandits.service.core.held import Held
from driftbandits.service.core.state import Service, admit
from driftbandits.service.dashboard.ahead import ahead_json
from driftbandits.service.dashboard.overview import Listing
from driftbandits.service.dashboard.timeline import alarm_entries, timeline
from driftbandits.service.dashboard.view_json import Cursor, view_json
from driftbandits.service.http.errors import refuse_for
from driftbandits.service.http.experiments import show
from driftbandits.service.http.streams import Stream
from driftbandits.store import Token

STATIC = Path(__file__).parent / "static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
TICK = 0.5
"""Seconds between two checks for what the page does not have yet."""
CHECK_EVERY = 4
"""Ticks between two looks at whether the token is still good, and at the overview."""
MOST_EACH = 300
"""Streams of one token at a time: pages that are open."""
BEAT = 1.0
"""Seconds of silence after which the page is told that the connection lives; after three of them it says silent."""

router = APIRouter(include_in_schema=False)


@router.get("/")
async def page() -> Response:
    """The page; it holds nothing but itself, so it needs no token."""
    return _file("index.html")


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """The page's own files."""
    return _file(name)


@router.get("/static/uplot/{name}")
async def uplot(name: str) -> Response:
    """Those of the library that draws charts."""
    return _file(name, STATIC / "uplot")


def _file(name: str, folder: Path = STATIC) -> Response:
    path = folder / name
    if path.parent != folder or path.suffix not in KINDS or not path.is_file():
        raise HTTPException(404, f"there is no file {name!r}")
    return Response(path.read_bytes(), headers=HEADERS, media_type=KINDS[path.suffix])


@router.get("/v1/live")
async def live(
    request: Request,
    experiment: Annotated[str, Query(max_length=64)] = "",
    span: Literal["whole", "recent"] = "whole",
) -> Response:
    """All about one experiment, or a little of all, as server-sent events, for as long as anyone listens."""
    service = await admit(request, "read", experiment)
    end = service.streams.take(request.scope["token"])
    events = _with_beats(_events(request, service, experiment, span))
    return Stream(events, end, headers={"Cache-Control": "no-store"}, media_type="text/event-stream")


@router.get("/v1/live/timeline")
async def read_timeline(request: Request, experiment: Annotated[str, Query(max_length=64)]) -> list[dict[str, Any]]:
    """What happened to an experiment; who did it, for those who may know."""
    service = await admit(request, "read", experiment)
    token: Token | None = request.scope["token"]
    held, with_names = service.holdings.held.get(experiment), token is None or token.scope == "admin"
    alarms = alarm_entries(held.view) if held else []
    return await service.holdings.slowly(timeline, service.store, experiment, alarms, with_names)


async def _events(request: Request, service: Service, id: str, span: str) -> AsyncIterator[str]:
    """Whatever changed, event by event. A refusal is an event too, and the last one."""
    tick, compiling = 0, False
    viewer, listing = Viewer(service, id, span), Listing(service.overview)
    while not request.app.state.stopping():
        try:
            if compiling == service.warming.done:
                compiling = not service.warming.done
                yield _event("compiling", json.dumps(compiling))
            if tick % CHECK_EVERY == 0:
                token = await service.access.check(request, "read", id)  # it may have been revoked meanwhile
                if not id and (news := await listing.news(token)):
                    yield _event("overview", news)
            if id:
                for event in await viewer.news():
                    yield event
        except DriftbanditsError as error:
            yield _event("refusal", bytes(refuse_for(error, "/v1/live").body).decode())
            return
        tick += 1
        await asyncio.sleep(TICK)


async def _with_beats(events: AsyncIterator[str]) -> AsyncIterator[str]:
    """The events, and a sign of life when none comes for long: nothing is new, or the experiment takes long to load."""
    coming = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            if not (await asyncio.wait([coming], timeout=BEAT))[0]:
                yield ": still here\n\n"
            elif (event := coming.result()) is None:
                return
            else:
                yield event
                coming = asyncio.ensure_future(anext(events, None))
    finally:
        coming.cancel()


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"


class Viewer:
    """What one page has seen of one experiment."""

    def __init__(self, service: Service, id: str, span: str) -> None:
        self._service, self._id, self._span = service, id, span
        self._held: Held | None = None
        self._cursor: Cursor | None = None
        self._seen: tuple[Any, ...] = ()
        self._about = ""

    async def news(self) -> list[str]:
        """The events that tell what is new."""
        holdings = self._service.holdings
        held = holdings.here(self._id) or await holdings.get(self._id)
        if held is not self._held:
            self._held, self._cursor, self._seen, self._about = held, None, (), ""
        events = []
        about = show(self._service, held.writer.experiment).model_copy(update={"status": held.status})
        told = about.model_dump_json(exclude={"step", "open", "learnt", "events"})
        if told != self._about:
            self._about = told
            events.append(_event("about", told))
        held.view.catch_up(held.session)
        seen = (held.view.seq, held.view.looked)
        if seen != self._seen:
            event, self._cursor, self._seen = _frame(held, self._span, self._cursor)
            events.append(event)
        return events


def _frame(held: Held, span: str, have: Cursor | None) -> tuple[str, Cursor, tuple[Any, ...]]:
    """What is new for a page that has so much; pages that have the same share it, and soon all open ones do."""
    now, key = time.monotonic(), (span, have)
    for old in [key for key, (made, _) in held.frames.items() if now - made >= TICK]:
        del held.frames[old]
    if key not in held.frames:
        found, cursor = view_json(held.view, span, have)
        found["ahead"] = ahead_json(held.session, int(found["shown"]), cursor.drawn)
        found["lift"] = held.session.lift()._asdict()
        event = _event("view", json.dumps(found, separators=(",", ":"), allow_nan=False))
        held.frames[key] = now, (event, cursor, (held.view.seq, held.view.looked))
    made: tuple[str, Cursor, tuple[Any, ...]] = held.frames[key][1]
    return made
