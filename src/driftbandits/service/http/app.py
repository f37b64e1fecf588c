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
from driftbandits.service.core.settings import Settings
from driftbandits.service.core.state import Service, admit
from driftbandits.service.dashboard import routes as dashboard
from driftbandits.service.http import decisions, experiments, reference
from driftbandits.service.http.access import Access, auth_needed
from driftbandits.service.http.answers import Answers
from driftbandits.service.http.errors import add_error_handlers, refuse
from driftbandits.service.http.gate import Gate
from driftbandits.store import Store, StoreError


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
            app.state.service = Service(settings, store, metrics, holdings, Answers(holdings), Access(holdings, needed))
            yield
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
    )
    app.state.stopping = lambda: False  # run.py knows better
    add_error_handlers(app)
    app.include_router(decisions.fast)
    app.include_router(decisions.router)
    app.include_router(experiments.router)
    app.include_router(reference.router)
    app.include_router(dashboard.router)
    _add_probes(app, metrics)
    return Gate(app, settings.most_body, metrics, decisions.SHORTCUTS)


def _add_probes(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> Response:
        """The process answers."""
        return Response('{"status":"ok"}', media_type="application/json")

    @app.get("/readyz", include_in_schema=False)
    async def readyz(request: Request) -> Response:
        """It can reach its store."""
        holdings = request.app.state.service.holdings
        try:
            await holdings.in_thread(holdings.store.experiments, "", 1)
        except StoreError:
            return refuse(503, "store", "the store cannot be reached", {"Retry-After": "1"})
        return Response('{"status":"ready"}', media_type="application/json")

    @app.get("/metrics", include_in_schema=False)
    async def prometheus(request: Request) -> Response:
        await admit(request, "read")
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
