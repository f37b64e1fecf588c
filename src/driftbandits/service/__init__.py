"""The HTTP service: ``driftbandits serve``. ``create_app(settings)`` is the ASGI application."""

from driftbandits._common.extras import needs

with needs("serve", "the service"):
    from driftbandits.service.http.app import create_app
    from driftbandits.service.core.settings import Settings

__all__ = ["Settings", "create_app"]
