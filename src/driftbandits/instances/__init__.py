"""Instances to try policies on: tables of reward means, and families of functions that build them."""

from driftbandits.instances.abrupt import abrupt
from driftbandits.instances.base import FAMILIES, Instance, family
from driftbandits.instances.coming_and_going import coming_and_going
from driftbandits.instances.common_periods import common_periods
from driftbandits.instances.equal_drift import equal_drift
from driftbandits.instances.fading import fading
from driftbandits.instances.lower_bound import lower_bound
from driftbandits.instances.real import ad_prices, clicks, tweets, weather
from driftbandits.instances.separated import separated
from driftbandits.instances.sinusoid import sinusoid
from driftbandits.instances.stationary import stationary
from driftbandits.instances.table import table
from driftbandits.instances.toggling import toggling
from driftbandits.instances.walk import walk
from driftbandits.instances.wave import wave

__all__ = [
    "FAMILIES",
    "Instance",
    "abrupt",
    "ad_prices",
    "clicks",
    "coming_and_going",
    "common_periods",
    "equal_drift",
    "fading",
    "family",
    "lower_bound",
    "separated",
    "sinusoid",
    "stationary",
    "table",
    "toggling",
    "tweets",
    "walk",
    "wave",
    "weather",
]
