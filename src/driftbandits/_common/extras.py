"""Optional packages come with extras; an import that fails says which extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from driftbandits.errors import MissingExtraError


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Around imports: when a package is not installed, MissingExtraError says that ``what`` needs the extra.

    >>> with needs("serve", "a Store"):
    ...     import no_such_package
    Traceback (most recent call last):
    driftbandits.errors.MissingExtraError: a Store needs no_such_package: pip install 'driftbandits[serve]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{what} needs {error.name}: pip install 'driftbandits[{extra}]'", name=error.name
        ) from None


def check_installed(extra: str, what: str, *packages: str) -> None:
    """Raise MissingExtraError if a package is not installed, without importing any."""
    for name in packages:
        if find_spec(name) is None:
            raise MissingExtraError(f"{what} needs {name}: pip install 'driftbandits[{extra}]'", name=name)
