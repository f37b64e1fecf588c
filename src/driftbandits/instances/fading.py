"""Radio links whose signal slowly fades and returns."""

from __future__ import annotations

import math

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_between, check_whole
from driftbandits.instances.base import HORIZON, Instance, check_shape, family

PATHS = 16
"""Echoes a link is the sum of: enough for the amplitude to be nearly Rayleigh distributed."""


@family
def fading(
    horizon: int = HORIZON, n_arms: int = 2, doppler: float = 2e-5, snr_db: float = 5.0, seed: int = 0
) -> Instance:
    """K = ``n_arms`` radio links to choose from, each fading independently; the reward is a packet that arrives.

    A link's complex amplitude is the sum of N = 16 echoes that arrive from random angles alpha with random phases phi
    (Clarke 1968; Jakes 1974), h(t) = N^(-1/2) sum over n of exp(i (2 pi f t cos(alpha_n) + phi_n)). f = ``doppler`` is
    the largest Doppler shift in cycles per step: (speed / speed of light) * carrier frequency * (seconds per step).
    |h| is Rayleigh distributed for large N, and |h|^2 averages to 1.

    The signal-to-noise ratio is snr(t) = 10^(snr_db/10) |h(t)|^2, in units of the ratio the receiver needs; ``snr_db``
    is its average in decibels. A packet arrives with probability mu_(a,t) = exp(-1/snr(t)): almost never in a deep
    fade, almost surely far above the need. (This is exact if the packet also meets a fast Rayleigh fade around snr(t).)

    How fast a mean drifts depends on the echoes drawn; it grows in proportion to ``doppler``. Read ``drift_limit``.

    Citation: R. H. Clarke, "A statistical theory of mobile-radio reception", Bell System Technical Journal 47 (1968);
    W. C. Jakes, "Microwave Mobile Communications", Wiley (1974).

    >>> instance = fading(horizon=50_000, seed=3)
    >>> instance.n_arms, instance.drift_limit < 5e-4
    (2, True)
    """
    T, K = check_shape(horizon, n_arms)
    seed = check_whole("seed", seed, 0)
    check_between("doppler", doppler, 0.0, 0.5)
    check_between("snr_db", snr_db, -100.0, 100.0)
    rng = np.random.default_rng(seed)
    means = np.empty((T, K))
    for arm in range(K):
        snr = 10 ** (snr_db / 10) * _power(T, doppler, rng)
        # In a perfect null the mean is 0, the limit of exp(-1/snr); the floor keeps the division finite.
        means[:, arm] = np.exp(-1 / np.maximum(snr, 1e-300))
    return Instance(means, name="fading links")


def _power(horizon: int, doppler: float, rng: np.random.Generator) -> Array:
    """|h(t)|^2 of one link."""
    angles, phases = 2 * math.pi * rng.random((2, PATHS))
    time = 2 * math.pi * doppler * np.arange(horizon)
    in_phase, quadrature = np.zeros(horizon), np.zeros(horizon)
    for angle, phase in zip(angles, phases, strict=True):
        turn = math.cos(angle) * time + phase
        in_phase += np.cos(turn)
        quadrature += np.sin(turn)
    return np.asarray((in_phase**2 + quadrature**2) / PATHS)
