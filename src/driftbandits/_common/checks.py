"""Checks of numbers that callers give: each error names the value and the limit."""

from __future__ import annotations

import difflib
import math
import numbers
import os
import secrets
import unicodedata
from collections.abc import Collection, Iterable, Mapping, MappingView, Sequence, Sized
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, TypeGuard

from driftbandits.errors import InputError

LARGEST_REWARD = 1e100
"""Larger rewards would overflow sums of squares; no policy here is asked to bear them."""

LARGEST_CONFIDENCE = 1e6
"""The factor in SnoozeIt's radii; its shortest window, some thousand times the square, still fits in 64 bits."""

LONGEST_SHOWN = 80
"""Characters of a value in an error."""

LONGEST_NAME = 200
"""Characters of an arm's name."""

UNSEEN = {"Cc", "Cs", "Zl", "Zp"}
"""Unicode's categories of control characters, halves of characters, and ends of lines and paragraphs."""
INVISIBLE = set(
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""Of no width, or turning the direction of text; not joiners, which scripts and pictograms need."""
BLANK = dict.fromkeys(map(ord, "\u2800\u3164\uffa0"), " ")
"""Braille's blank and Hangul's fillers: to Unicode they are no spaces."""
SELECTORS = dict.fromkeys(
    (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
)
"""Marks that are not shown, such as those that select a variant of a pictogram, and fillers without width."""

LEAST_SECONDS = 1e-3
"""The shortest timeout: a shorter one would end before an answer could be on its way."""

FOREVER = 1 << 60
"""Steps: no horizon or window is longer, so that sums of a few of them still fit in 64 bits."""


def check_whole(name: str, value: float, low: int, high: float = math.inf) -> int:
    """A whole number in [low, high]; 1e5 counts as one, True does not.

    >>> check_whole("seed", 1e5, 0)
    100000
    >>> check_whole("n_arms", 1, 2)
    Traceback (most recent call last):
    driftbandits.errors.InputError: n_arms must be a whole number, at least 2; got 1
    """
    if not (is_number(value) and low <= value <= high and value % 1 == 0):
        # An end as far away as FOREVER is named to those who passed it.
        open_end = high == math.inf or (high == FOREVER and not (is_number(value) and value > high))
        limit = f"at least {low:,}" if open_end else f"from {low:,} to {high:,}"
        raise InputError(f"{name} must be a whole number, {limit}; got {shown(value)}")
    return int(value)


def check_seed(seed: float | None, high: float = math.inf) -> int:
    """A seed as a whole number from 0 on; None asks for a new one, taken from the system's randomness."""
    return secrets.randbits(32) if seed is None else check_whole("seed", seed, 0, high)


def check_horizon(horizon: float, low: int = 1) -> int:
    """T must be a whole number of at least ``low`` steps."""
    return check_whole("horizon", horizon, low, FOREVER)


def check_drift(drift: float, most: float = 1.0) -> float:
    """0 <= delta <= 1 where means lie in [0, 1], so that nothing can drift faster; elsewhere at most ``most``."""
    if not (is_number(drift) and 0.0 <= drift <= most):
        why = "drift must lie in [0, 1], since means do" if most == 1.0 else f"drift must lie in [0, {most:g}]"
        raise InputError(f"{why}; got {shown(drift)}")
    return float(drift)


def check_tuning_drift(owner: str, parameter: str, drift: float | None) -> None:
    """A policy that tunes ``parameter`` to the drift needs one above 0; the error names the way out.

    >>> check_tuning_drift("SWTS", "window", 0.0)
    Traceback (most recent call last):
    driftbandits.errors.InputError: SWTS's window is undefined for drift=0, where all is worth keeping: give window=...
    """
    if drift is None:
        raise InputError(f"{owner} needs drift to choose its {parameter}, or {parameter}=... itself")
    if check_drift(drift) == 0:
        raise InputError(
            f"{owner}'s {parameter} is undefined for drift=0, where all is worth keeping: give {parameter}=..."
        )


def check_between(name: str, value: float | None, low: float, high: float, *, optional: bool = False) -> None:
    """A number must lie in [low, high]; an ``optional`` one may be None."""
    if not (is_number(value) and low <= value <= high) and not (optional and value is None):
        raise InputError(f"{name} must lie in [{low:g}, {high:g}]; got {shown(value)}")


def check_factor(name: str, value: float, high: float) -> None:
    """A factor must lie in [1/high, high]."""
    if not (is_number(value) and 1 / high <= value <= high):
        raise InputError(f"{name} must be positive, from {1 / high:g} to {high:g}; got {shown(value)}")


def check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """A word must be one of a few.

    >>> check_choice("kl", "normal", ("bernoulli", "gaussian"))
    Traceback (most recent call last):
    driftbandits.errors.InputError: unknown kl 'normal'; choose one of bernoulli, gaussian
    """
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"unknown {name} {shown(value)}; choose one of {', '.join(choices)}")


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """A hint, with a space behind it, when a known name is much like this one, whatever its capitals; else nothing.

    >>> did_you_mean("snoozit", ["SnoozeIt", "UCB1"]), did_you_mean("extra", ["Rexp3", "UCB1"])
    ('did you mean SnoozeIt? ', '')
    """
    by_lower = {each.lower(): each for each in known}
    word = str(name).lower()
    begins = [each for each in by_lower if len(word) > 2 and each.startswith(word)]
    near = difflib.get_close_matches(word, by_lower, n=1, cutoff=0.7) or begins
    return f"did you mean {by_lower[near[0]]}? " if near else ""


def check_flag(name: str, value: bool | None, *, optional: bool = False) -> bool | None:
    """True or False; an ``optional`` one may be None.

    >>> check_flag("events", "yes")
    Traceback (most recent call last):
    driftbandits.errors.InputError: events must be True or False; got 'yes'
    """
    if optional and value is None:
        return None
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's too, which need not be imported for it
        raise InputError(f"{name} must be True{', False or None' if optional else ' or False'}; got {shown(value)}")
    return bool(value)


def check_means(name: str, values: Sequence[float], count: int | None = None) -> list[float]:
    """Means of two arms or more, or of ``count``, each a number in [0, 1].

    >>> check_means("start", 0.5, 2)
    Traceback (most recent call last):
    driftbandits.errors.InputError: start must hold a mean for each of 2 arms, as in (0.9, 0.1); got 0.5
    """
    try:
        found = [] if isinstance(values, str | bytes | AbstractSet) else list(values)
    except TypeError:
        found = []
    if len(found) < 2 or count not in (None, len(found)):
        of = "each of 2 arms or more" if count is None else f"each of {count} arms"
        raise InputError(f"{name} must hold a mean for {of}, as in (0.9, 0.1); got {shown(values)}")
    for arm, mean in enumerate(found):
        check_between(f"{name}[{arm}]", mean, 0.0, 1.0)
    return [float(mean) for mean in found]


def check_path(name: str, value: str | os.PathLike[str]) -> Path:
    """The name of a file or a directory.

    >>> check_path("keep", 3)
    Traceback (most recent call last):
    driftbandits.errors.InputError: keep must be the name of a file, such as 'runs.parquet', or a Path; got 3
    """
    if not isinstance(value, str | os.PathLike) or str(value) == "":
        raise InputError(f"{name} must be the name of a file, such as 'runs.parquet', or a Path; got {shown(value)}")
    return Path(value)


def is_reward(value: Any) -> bool:
    """Whether a value can be learnt from: a finite number. True and False count as 1 and 0."""
    try:
        # Asking first for what nearly all are spares the slow look at what counts as a real number.
        real = type(value) is float or isinstance(value, numbers.Real)
        return real and -LARGEST_REWARD <= float(value) <= LARGEST_REWARD
    except OverflowError:  # a whole number or a fraction that is larger than any float
        return False


def check_range(name: str, values: Any) -> tuple[float, float] | None:
    """Two numbers, the smaller first; or None for no limits.

    >>> check_range("reward_range", [0, 1])
    (0.0, 1.0)
    """
    if values is None:
        return None
    given = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else []
    if len(given) != 2 or not all(map(is_reward, given)) or not given[0] < given[1]:
        raise InputError(
            f"{name} must be two numbers, the smaller one first, or None for no limits; got {shown(values)}"
        )
    return float(given[0]), float(given[1])


def check_default(reward: Any, limits: tuple[float, float] | None) -> Any:
    """What is learnt in place of a reward that never came: a reward within the limits, or None."""
    if reward is not None and not is_reward(reward):
        raise InputError(
            f"default_reward must be a finite number, at most {LARGEST_REWARD:g} in size, or None to drop what "
            f"never comes; got {shown(reward)}"
        )
    if reward is not None and limits is not None and not limits[0] <= reward <= limits[1]:
        raise InputError(
            f"default_reward must be in reward_range, {limits[0]:g} to {limits[1]:g}, or None to drop what never "
            f"comes; got {shown(reward)}"
        )
    return reward


def check_names(name: str, values: Sequence[str]) -> list[str]:
    """Different, non-empty names, which a person can tell apart.

    >>> check_names("arms", ["red", "red"])
    Traceback (most recent call last):
    driftbandits.errors.InputError: arms must be a list of different names, such as ['red', 'blue']; got ['red', 'red']
    >>> check_names("arms", ["a b", "a  b"])
    Traceback (most recent call last):
    driftbandits.errors.InputError: arms must be names that look different; got 'a b' and 'a  b'
    """
    kind = type(values).__name__
    if isinstance(values, AbstractSet | Mapping | MappingView):
        # Arms are numbered in their order. That of a set differs from one process to the next.
        raise InputError(f"{name} must be a list of names, such as ['red', 'blue'], in a fixed order; got a {kind}")
    names = list(values) if isinstance(values, Iterable) and isinstance(values, Sized) else []
    if isinstance(values, str) or not names or not all(isinstance(each, str) and each for each in names):
        raise InputError(f"{name} must be a list of different names, such as ['red', 'blue']; got {shown(values)}")
    if len(set(names)) < len(names):
        raise InputError(f"{name} must be a list of different names, such as ['red', 'blue']; got {shown(values)}")
    looks: dict[str, str] = {}
    for each in names:
        check_name(f"{name} must be names", each)
        other = looks.setdefault(look_of(each), each)
        if other != each:
            raise InputError(f"{name} must be names that look different; got {other!a} and {each!a}")
    return [str(each) for each in names]  # numpy has texts of its own


def check_name(what: str, name: Any) -> str:
    """A name that a person can read and type, on one line; ``what`` begins the error.

    >>> check_name("arms must be names", "red ")
    Traceback (most recent call last):
    driftbandits.errors.InputError: arms must be names without spaces at the ends; got 'red '
    """
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST_NAME:
        raise InputError(f"{what} of 1 to {LONGEST_NAME} characters; got {shown(name)}")
    if name.isascii() and name.isprintable() and name == name.strip():  # as most are
        return name
    if wrong := [each for each in name if unicodedata.category(each) in UNSEEN or each in INVISIBLE] or (
        [] if look_of(name) else [name[0]]
    ):
        raise InputError(
            f"{what} of characters that can be seen, on one line; got {ascii(name)[:LONGEST_SHOWN]}, "
            f"which has {wrong[0]!a}: leave it out"
        )
    if name != name.strip():
        raise InputError(f"{what} without spaces at the ends; got {ascii(name)[:LONGEST_SHOWN]}")
    return name


def look_of(name: str) -> str:
    """What names that look alike have in common: they differ in spaces, invisible characters or composed accents.

    >>> look_of("caf\\u00e9") == look_of("cafe\\u0301"), look_of("a\\u200d b") == look_of("a b")
    (True, True)
    """
    plain = name.translate(BLANK | SELECTORS)
    seen = "".join(each for each in plain if unicodedata.category(each) != "Cf")
    return unicodedata.normalize("NFC", " ".join(seen.split()))


def shown(value: Any) -> str:
    """A value as errors name it: on one line, and cut where nobody would read on.

    >>> shown(10**400), shown(-1.5), shown([[1.0] * 9] * 9)
    ('about 10^400', '-1.5', '[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1...')
    """
    if isinstance(value, int) and abs(value) > LARGEST_REWARD:
        return f"about {'-' * (value < 0)}10^{math.log10(abs(value)):.0f}"
    try:
        if isinstance(shape := getattr(value, "shape", None), tuple) and shape:
            return f"{type(value).__name__} of shape {shape}"  # an array, a data frame
        text = " ".join(repr(value).split())
    except Exception:  # someone else's; river's policies have no repr before their first pull
        text = f"an object of {type(value).__name__}"
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def is_number(value: Any) -> TypeGuard[float]:
    """True and False are not numbers."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_timeout(timeout: float | None) -> float | None:
    """Seconds after which something is settled; None for never."""
    return _check_seconds("timeout", timeout, "wait for ever")


def check_sticky(sticky: float | None) -> float | None:
    """Seconds for which a unit gets its arm again; None for none."""
    return _check_seconds("sticky", sticky, "choose anew for every Decision")


def _check_seconds(name: str, seconds: float | None, otherwise: str) -> float | None:
    if seconds is not None and not (is_number(seconds) and is_reward(seconds) and seconds >= LEAST_SECONDS):
        raise InputError(
            f"{name} must be a positive number of seconds, from {LEAST_SECONDS:g} to {LARGEST_REWARD:g}, or None to "
            f"{otherwise}; got {shown(seconds)}"
        )
    return None if seconds is None else float(seconds)


def check_share(name: str, share: float) -> float:
    """A share of all Decisions."""
    if not (is_number(share) and 0 <= share <= 1):
        raise InputError(f"{name} is a share of all Decisions, from 0 to 1; got {shown(share)}")
    return float(share)


def is_ours(owner: type) -> bool:
    """Whether a class is part of this package, whose kernels the package's own tests have run with every check."""
    return owner.__module__.split(".")[0] == __name__.split(".")[0]
