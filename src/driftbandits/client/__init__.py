"""The service's verbs from Python, with retries that never count twice: ``Client``, and ``AsyncClient`` for asyncio.

    client = Client("http://127.0.0.1:8000", token="...")
    button = client.open("button", arms=["red", "blue"])
    decision = button.ask()
    button.tell(decision.id, 0.7)

An experiment has the verbs of a ``Session``, and raises the same exceptions. Needs httpx, and nothing of the service.
"""

from driftbandits._common.extras import needs

with needs("client", "the client"):
    from driftbandits.client.aio import AsyncClient, AsyncRemoteSession
    from driftbandits.client.calls import RefusedError, UnavailableError
    from driftbandits.client.sync import Client, RemoteSession

__all__ = ["AsyncClient", "AsyncRemoteSession", "Client", "RefusedError", "RemoteSession", "UnavailableError"]
