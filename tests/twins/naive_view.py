"""A View said as plainly as can be: everything from the whole log, one event after the other."""

from __future__ import annotations

import math
from typing import Any

from driftbandits.live.decisions import Asked, Event, Settled, Told

WIDTH = 8
Row = dict[str, Any]


def base_rows(log: list[Event], beliefs: dict[int, tuple[float, float, list[int]]], n_arms: int) -> list[Row]:
    """One row for every 8 steps. ``beliefs``: after a step, the gap, its threshold and the arms snoozed since."""
    rows: list[Row] = []
    asked: dict[int, Asked] = {}
    step, newest, pending, gap, threshold, snoozed = 0, 0, 0, math.nan, math.nan, list[int]()
    for number, event in enumerate(log):
        if isinstance(event, Asked):
            step = event.step
        if (step - 1) // WIDTH == len(rows):
            rows.append(
                {
                    "told": 0,
                    "late": 0,
                    "settled": 0,
                    "asks": [0] * n_arms,
                    "snoozed": [0] * n_arms,
                    "came": [[] for _ in range(n_arms)],
                }
            )
        row = rows[-1]
        if isinstance(event, Asked):
            asked[step] = event
            row["asks"][event.arm] += 1
            for arm in snoozed:
                row["snoozed"][arm] += 1
            pending += 1
        elif isinstance(event, Told | Settled):
            pending -= 1
            if isinstance(event, Told):
                row["told"] += 1
                row["late"] += event.step < newest
                newest = max(newest, event.step)
            else:
                row["settled"] += 1
            if event.reward is not None:
                probability = asked[event.step].probability
                row["came"][asked[event.step].arm].append((event.reward, 1 / (probability or 1.0)))
        if number + 1 in beliefs:
            gap, threshold, snoozed = beliefs[number + 1]
        row.update(step=step, time=event.time, pending=pending, gap=gap, threshold=threshold)
    return rows


def fold(rows: list[Row], most: int) -> list[Row]:
    """As few times two into one as it takes, for ``most`` full rows and one that is not full."""
    width = 1
    while (len(rows) - 1) // width > most:
        width *= 2
    return [_merge(rows[start : start + width]) for start in range(0, len(rows), width)]


def _merge(rows: list[Row]) -> Row:
    merged = dict(rows[-1])
    for name in ("told", "late", "settled"):
        merged[name] = sum(row[name] for row in rows)
    for name in ("asks", "snoozed"):
        merged[name] = [sum(column) for column in zip(*(row[name] for row in rows), strict=True)]
    merged["came"] = [[each for row in rows for each in row["came"][arm]] for arm in range(len(rows[0]["came"]))]
    return merged


def curves(rows: list[Row], arm: int, rolling: int = 8) -> list[tuple[float, ...]]:
    """Of one arm: rolling share and mean with its interval, and the policy's lead over the arm alone."""
    found: list[tuple[float, ...]] = []
    lead, alone = 0.0, math.nan
    for index, row in enumerate(rows):
        came = [each for before in rows[max(0, index - rolling + 1) : index + 1] for each in before["came"][arm]]
        mean = sum(reward for reward, _ in came) / len(came) if came else math.nan
        low = high = math.nan
        if came and all(reward in (0.0, 1.0) for reward, _ in came):
            low, high = wilson(mean, len(came))
        elif len(came) > 1:
            half = 1.96 * math.sqrt(sum((r - mean) ** 2 for r, _ in came) / (len(came) - 1) / len(came))
            low, high = mean - half, mean + half
        if came:
            alone = sum(reward * weight for reward, weight in came) / sum(weight for _, weight in came)
        everything = [reward for each in row["came"] for reward, _ in each]
        if not math.isnan(alone):
            lead += sum(everything) - len(everything) * alone
        asks = [before["asks"] for before in rows[max(0, index - rolling + 1) : index + 1]]
        share = sum(each[arm] for each in asks) / sum(sum(each) for each in asks)
        if len(came) < 10:
            mean = low = high = math.nan
        found.append((share, mean, low, high, math.nan if math.isnan(alone) else lead))
    return found


def wilson(mean: float, count: int) -> tuple[float, float]:
    """The p from which the mean is 1.96 standard errors away: the roots of (mean - p)^2 = 1.96^2 p (1 - p)/n."""
    square = 1.96**2 / count
    a, b, c = 1 + square, -(2 * mean + square), mean**2
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)
