"""The HTTP service: ``driftbandits serve``. ``create_app(settings)`` is the ASGI application."""

from typing import TYPE_CHECKING, Any

from driftbandits._common.extras import needs

with needs("serve", "the service"):
    from driftbandits.service.core.settings import Settings

    if TYPE_CHECKING:
        from driftbandits.service.http.app import create_app

__all__ = ["Settings", "create_app"]


def __getattr__(name: str) -> Any:
    """The application, when it is first asked for: commands that only read settings need no HTTP."""
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs("serve", "the service"):
        from driftbandits.service.http.app import create_app
    return create_app
