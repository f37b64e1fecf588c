"""Errors that are not bugs: wrong input, and work that the machine interrupted; and a warning."""


class DriftbanditsError(Exception):
    """Every error that this package raises on purpose. The message says what to do; anything else is a bug."""


class InputError(DriftbanditsError, ValueError):
    """Something the caller gave cannot be used. The message names the value, the limit and the way out."""


class MissingExtraError(ModuleNotFoundError, InputError):
    """What was asked for needs packages that are not installed. The message says how to install them."""


class FeasibilityWarning(UserWarning):
    """A policy was given numbers under which it cannot do what it is for. The message says which would help."""


class Unfinished(DriftbanditsError, RuntimeError):  # noqa: N818 - it says not that something is wrong with the work
    """The machine let us down: a cluster is gone, a disk is full. What was finished is kept; the message says more."""


class PolicyError(InputError):
    """A policy did what no policy may: an index outside its array, an arm that does not exist, too little room."""
