"""What a command line must tell from a bug: wrong input, and work that the machine cut short; and a warning."""


class InputError(ValueError):
    """Something the caller gave cannot be used. The message names the value, the limit and the way out."""


class FeasibilityWarning(UserWarning):
    """A policy was given numbers under which it cannot do what it is for. The message says which would help."""


class Unfinished(RuntimeError):  # noqa: N818 - what it says is not that something is wrong with the work
    """The machine let us down: a cluster is gone, a disk is full. What was finished is kept; the message says more."""


class PolicyError(InputError):
    """A policy did what no policy may: an index outside its array, an arm that does not exist, too little room."""
