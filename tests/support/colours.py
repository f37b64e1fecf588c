"""How far apart colours are, for eyes of every kind: OKLab distances after Machado's simulation of colour blindness."""

from __future__ import annotations

import numpy as np

from driftbandits._common.arrays import Array

EYES = {
    "all colours": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""Matrices on linear RGB, of severity 1 (Machado, Oliveira and Fernandes, 2009)."""
LMS = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
     [0.0883024619, 0.2817188376, 0.6299787005]]
)  # fmt: skip
LAB = np.array(
    [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
     [0.0259040371, 0.7827717662, -0.8086757660]]
)  # fmt: skip


def linear(colour: str) -> Array:
    """Linear RGB of a colour such as #0072b2."""
    parts = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """As WCAG defines it: 1 to 21."""
    light, dark = sorted((float(linear(each) @ [0.2126, 0.7152, 0.0722]) for each in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def apart(one: str, other: str, eyes: str) -> float:
    """The distance in OKLab, in which 0.02 can just be seen."""
    seen = [LAB @ np.cbrt(LMS @ np.clip(EYES[eyes] @ linear(each), 0, 1)) for each in (one, other)]
    return float(np.linalg.norm(seen[0] - seen[1]))
