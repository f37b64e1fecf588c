"""Means that were measured in the world: clicks, prices, tweets, temperatures. No policy may be tuned on them.

What was recorded, and from where, is said in ``docs/real-data.md``.
"""

from __future__ import annotations

from driftbandits._common.checks import shown
from driftbandits.errors import InputError
from driftbandits.instances.base import HORIZON, Instance, check_shape, family
from driftbandits.instances.recorded import day_by_day, read_data, spread

PRICES = ("cpc", "cpm")


@family
def clicks(horizon: int = HORIZON) -> Instance:
    """Click-through rates of six front-page articles of Yahoo!, between 0.008 and 0.071; meant for ``Bernoulli()``.

    Nine stretches of time were tabulated. Means are interpolated between them: straight lines over T/8 steps.

    >>> clicks(10_000)
    <Instance clicks: T=10,000, K=6, drift_limit=2.8e-05>
    """
    T, _ = check_shape(horizon, 6)
    arms, values = read_data("clicks")
    return Instance(spread(values, T), name="clicks", arms=arms)


@family
def ad_prices(horizon: int = HORIZON, price: str = "cpc") -> Instance:
    """What three ad exchanges charged, hour by hour for two months: per click (cpc) or per thousand views (cpm).

    Each mean is a day's median around the hour, as a share of the largest. The best arm is the dearest, as it is for
    somebody who sells.

    >>> ad_prices(10_000).n_arms, float(ad_prices(10_000, "cpm").means.max())
    (3, 1.0)
    """
    T, _ = check_shape(horizon, 3)
    if price not in PRICES:
        raise InputError(f"price must be one of {', '.join(PRICES)}; got {shown(price)}")
    return day_by_day(f"ad-prices-{price}", T)


@family
def tweets(horizon: int = HORIZON) -> Instance:
    """How often each of ten companies was mentioned on Twitter, in two months of 2015.

    Each mean is a day's median around a moment, as a share of the largest. Two arms take turns as the best, the others
    are far behind.

    >>> tweets(10_000).n_arms
    10
    """
    T, _ = check_shape(horizon, 10)
    return day_by_day("tweets", T)


@family
def weather(horizon: int = HORIZON) -> Instance:
    """The temperature at the three airports of New York in 2013: arms that rise and fall together, never far apart.

    Each mean is a day's median around the hour, as a share of the largest.

    >>> weather(10_000).arms
    ('EWR', 'JFK', 'LGA')
    """
    T, _ = check_shape(horizon, 3)
    return day_by_day("weather", T)
