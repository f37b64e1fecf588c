"""The one exception that means "the input is wrong", so that a command line can tell it from a bug; and a warning."""


class InputError(ValueError):
    """Something the caller gave cannot be used. The message names the value, the limit and the way out."""


class FeasibilityWarning(UserWarning):
    """A policy was given numbers under which it cannot do what it is for. The message says which would help."""
