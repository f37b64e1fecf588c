"""The one exception that means "the input is wrong", so that a command line can tell it from a bug."""


class InputError(ValueError):
    """Something the caller gave cannot be used. The message names the value, the limit and the way out."""
