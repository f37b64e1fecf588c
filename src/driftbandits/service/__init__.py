"""The HTTP service: ``driftbandits serve``. ``create_app(settings)`` is the ASGI application."""

from driftbandits._common.extras import needs

with needs("serve", "the service"):
    from driftbandits.service.core.settings import Settings
    from driftbandits.service.http.app import create_app

__all__ = ["Settings", "create_app"]
