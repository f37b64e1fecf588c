"""The HTTP service: ``driftbandits serve``. ``create_app(settings)`` is the ASGI application."""

from driftbandits.extras import needs

with needs("serve", "the service"):
    from driftbandits.service.app import create_app
    from driftbandits.service.settings import Settings

__all__ = ["Settings", "create_app"]
