"""What can be set, by options of ``driftbandits serve`` or by environment variables DRIFTBANDITS_STORE, ..."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class Settings(BaseSettings):
    """Settings of the service.

    >>> Settings(port=8080).on_loopback
    True
    """

    model_config = SettingsConfigDict(env_prefix="DRIFTBANDITS_", extra="forbid")

    store: str = "sqlite:///driftbandits.db"
    """Where experiments are kept: sqlite:///file.db or postgresql://user:password@host/name."""
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8000
    url: str | None = None
    """Where clients reach this service, told to those who ask another service for an experiment held here."""
    auth: bool | None = None
    """Whether requests need a token. Unless given: always, but on loopback while the Store has no token."""
    most_body: Count = 1 << 20
    """Bytes of a request's body."""
    most_batch: Count = 10_000
    """Decisions or rewards in one request."""
    most_loaded: Count = 10_000
    """Experiments in memory; beyond it those not used for the longest time are let go."""
    idle: Positive = 300.0
    """Seconds without use after which an experiment is let go, for another service to take or for none."""
    keep_answers: Positive = 86_400.0
    """Seconds for which an Idempotency-Key is remembered."""
    lease: Positive = 15.0
    """Seconds after which another service takes over from one that went silent."""
    log_level: str = "info"

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host's name or address means this machine and no other.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
