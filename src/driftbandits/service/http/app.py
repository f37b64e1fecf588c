"""The ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from driftbandits.service.core.arm_metrics import ArmMetrics
from driftbandits.service.core.holdings import Holdings
from driftbandits.service.core.metrics import Metrics
from driftbandits.service.core.probe import Probe
from driftbandits.service.core.settings import Settings
from driftbandits.service.core.state import Service, admit
from driftbandits.service.core.warming import Warming
from driftbandits.service.dashboard import routes as dashboard
from driftbandits.service.dashboard.overview import Overview
from driftbandits.service.http import contract, decisions, experiments, models, policies, reference
from driftbandits.service.http.access import Access, auth_needed
from driftbandits.service.http.answers import Answers
from driftbandits.service.http.direct import REFUSALS
from driftbandits.service.http.errors import add_error_handlers, refuse
from driftbandits.service.http.exports import Exports
from driftbandits.service.http.front import Front
from driftbandits.service.http.gate import Gate
from driftbandits.service.http.streams import Shares, TooManyStreamsError
from driftbandits.store import Store


def create_app(settings: Settings | None = None) -> Front:
    """The service as an application for any ASGI server: one process per application, as its Sessions are in memory."""
    settings = settings or Settings()
    metrics, arms = Metrics(), ArmMetrics(settings.most_arms_shown)
    metrics.add(arms)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = Store(settings.store, lease=settings.lease)
        try:
            needed = auth_needed(settings, store)
            holdings = Holdings(store, settings, metrics)
            answers, access = Answers(holdings), Access(holdings, needed)
            exports, probe = Exports(store), Probe(store, holdings)
            streams = Shares(dashboard.MOST_EACH, "live streams", TooManyStreamsError)
            metrics.gauge("running_exports", "Exports that are being sent.", lambda: exports.running)
            app.state.service = Service(
                settings,
                store,
                metrics,
                holdings,
                answers,
                access,
                exports,
                streams,
                probe,
                Warming(),
                Overview(store, holdings),
            )
            yield
            exports.close()
            await holdings.close()
        finally:
            store.close()
            front.close()

    app = FastAPI(
        title="driftbandits",
        version=version("driftbandits"),
        description="Live decisions: ask for an arm, tell its reward late or never, see why.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=contract.operation_id,
        servers=[{"url": settings.root_path}] if settings.root_path else None,
    )
    front = Front(app, Gate(app, settings, metrics, decisions.SHORTCUTS), settings)
    app.state.stopping = lambda: False  # run.py knows better
    add_error_handlers(app)
    app.include_router(decisions.fast)
    app.include_router(decisions.router)
    app.include_router(experiments.router)
    app.include_router(policies.router)
    app.include_router(experiments.audit)
    app.include_router(reference.router)
    app.include_router(dashboard.router)
    _add_probes(app, metrics, arms)
    contract.describe(app, tokens=settings.auth is not False)
    return front


def _add_probes(app: FastAPI, metrics: Metrics, arms: ArmMetrics) -> None:
    away: dict[int | str, dict[str, Any]] = {503: REFUSALS[503]}

    @app.head("/healthz", include_in_schema=False)
    @app.get("/healthz", tags=["Operations"], response_model=models.Status)
    async def check_health() -> Response:
        """The process answers."""
        return Response('{"status":"ok"}', media_type="application/json")

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", tags=["Operations"], response_model=models.Status, responses=away)
    async def check_readiness(request: Request) -> Response:
        """It can write to its store, nothing hangs, the default policy is compiled: an ask is answered at once."""
        service: Service = request.app.state.service
        wrong = await service.probe.wrong()
        if wrong:
            return refuse(503, "store", wrong, {"Retry-After": "1"})
        if not service.warming.done:
            return refuse(503, "compiling", "the default policy is being compiled: wait", {"Retry-After": "1"})
        return Response('{"status":"ready"}', media_type="application/json")

    @app.get(
        "/metrics",
        tags=["Operations"],
        response_class=PlainTextResponse,
        responses={status: REFUSALS[status] for status in (401, 403)},
    )
    async def read_metrics(request: Request) -> Response:
        """Numbers for Prometheus."""
        service = await admit(request, "read")
        await arms.look(service.holdings.held.values())
        text = await service.holdings.in_thread(metrics.text)  # some ten milliseconds with many arms
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
