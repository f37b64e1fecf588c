"""What can be set, by options of ``driftbandits serve`` or by environment variables DRIFTBANDITS_STORE, ..."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from driftbandits._common.durations import seconds_of
from driftbandits.errors import InputError

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


def _seconds(keep: object) -> object:
    try:
        return seconds_of(keep) if isinstance(keep, str) else keep
    except InputError as error:
        raise ValueError(str(error)) from None


def _not_a_link(port: object) -> object:
    if isinstance(port, str) and "://" in port:
        raise ValueError(
            "a port is a number. Kubernetes sets DRIFTBANDITS_PORT for a Service called driftbandits: say "
            "enableServiceLinks: false in the pod's spec"
        )
    return port


def _path(given: str) -> str:
    if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*", given):
        raise ValueError("a path begins with a slash and ends without one, as in /bandits")
    return given


def _url(given: str | None) -> str | None:
    if given is not None and not re.fullmatch(r"https?://[^\s/]+(/[^\s?#]*)?", given):
        raise ValueError("an address begins with http:// or https://, as in https://bandits.example:8000")
    return given


def _origins(given: str) -> str:
    if not re.fullmatch(r"(\*|https?://[^\s/,]+( https?://[^\s/,]+)*)?", given):
        raise ValueError("a site has no path and no slash at its end, as in https://shop.example; * is every site")
    return given


class Settings(BaseSettings):
    """Settings of the service.

    >>> Settings(port=8080).on_loopback
    True
    """

    model_config = SettingsConfigDict(env_prefix="DRIFTBANDITS_", extra="forbid")

    store: str = "sqlite:///driftbandits.db"
    """Where experiments are kept: sqlite:///file.db or postgresql://user:password@host/name."""
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535), BeforeValidator(_not_a_link)] = 8000
    url: Annotated[str | None, AfterValidator(_url)] = None
    """Where clients reach this service, told to those who ask another service for an experiment held here."""
    auth: bool | None = None
    """Whether requests need a token. Unless given, they do; False is for this machine alone."""
    root_path: Annotated[str, AfterValidator(_path)] = ""
    """The path under which a proxy shows the service, such as /bandits; whether it takes that off or not."""
    cors_origin: Annotated[str, AfterValidator(_origins)] = ""
    """Sites whose pages may call the service from a browser, with spaces between them; * is every site."""
    access_log: bool = False
    """Whether each request is logged, as a line of JSON on standard error."""
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
    keep: Annotated[float | None, BeforeValidator(_seconds)] = None
    """How long events of new experiments are kept, as in 90d, unless their creators say otherwise; None: for ever."""
    archive: Path | None = None
    """A folder; what is no longer kept is written to Parquet files there before it is erased."""
    lease: Positive = 15.0
    """Seconds after which another service takes over from one that went silent."""
    request_timeout: Positive = 30.0
    """Seconds within which a request must have come whole."""
    most_arms_shown: Annotated[int, Field(ge=0)] = 1000
    """Arms, of all experiments together, that /metrics shows one by one; 0: none."""
    log_level: str = "info"

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)


OTHERS = {"DRIFTBANDITS_BOUNDSCHECK"}
"""Variables of the package that are no settings of the service."""


def unknown_settings() -> list[str]:
    """Variables in the environment that look like settings, and are none: misspelt, perhaps."""
    known = {f"DRIFTBANDITS_{name.upper()}" for name in Settings.model_fields} | OTHERS
    return sorted(name for name in os.environ if name.startswith("DRIFTBANDITS_") and name not in known)


def is_loopback(host: str) -> bool:
    """Whether a host's name or address means this machine and no other.

    >>> is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
