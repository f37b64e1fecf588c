"""The ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from driftbandits.service.core.holdings import Holdings
from driftbandits.service.core.metrics import Metrics
from driftbandits.service.core.probe import Probe
from driftbandits.service.core.settings import Settings
from driftbandits.service.core.state import Service, admit
from driftbandits.service.dashboard import routes as dashboard
from driftbandits.service.http import decisions, experiments, reference
from driftbandits.service.http.access import Access, auth_needed
from driftbandits.service.http.answers import Answers
from driftbandits.service.http.errors import add_error_handlers, refuse
from driftbandits.service.http.exports import Exports
from driftbandits.service.http.gate import Gate
from driftbandits.store import Store


def create_app(settings: Settings | None = None) -> Gate:
    """The service as an application for any ASGI server: one process per application, as its Sessions are in memory."""
    settings = settings or Settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = Store(settings.store, lease=settings.lease)
        try:
            needed = auth_needed(settings, store)
            holdings = Holdings(store, settings, metrics)
            answers, access = Answers(holdings), Access(holdings, needed)
            exports, probe = Exports(store), Probe(store)
            metrics.gauge("running_exports", "Exports that are being sent.", lambda: exports.running)
            app.state.service = Service(settings, store, metrics, holdings, answers, access, exports, probe)
            yield
            exports.close()
            await holdings.close()
        finally:
            store.close()

    app = FastAPI(
        title="driftbandits",
        version=version("driftbandits"),
        description="Live decisions: ask for an arm, tell its reward late or never, see why.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        servers=[{"url": settings.root_path}] if settings.root_path else None,
    )
    app.state.stopping = lambda: False  # run.py knows better
    add_error_handlers(app)
    app.include_router(decisions.fast)
    app.include_router(decisions.router)
    app.include_router(experiments.router)
    app.include_router(experiments.audit)
    app.include_router(reference.router)
    app.include_router(dashboard.router)
    _add_probes(app, metrics)
    return Gate(app, settings, metrics, decisions.SHORTCUTS)


def _add_probes(app: FastAPI, metrics: Metrics) -> None:
    @app.head("/healthz", include_in_schema=False)
    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> Response:
        """The process answers."""
        return Response('{"status":"ok"}', media_type="application/json")

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", include_in_schema=False)
    async def readyz(request: Request) -> Response:
        """It can write to its store."""
        wrong = await request.app.state.service.probe.wrong()
        if wrong:
            return refuse(503, "store", wrong, {"Retry-After": "1"})
        return Response('{"status":"ready"}', media_type="application/json")

    @app.get("/metrics", include_in_schema=False)
    async def prometheus(request: Request) -> Response:
        await admit(request, "read")
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
