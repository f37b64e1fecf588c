"""Twenty arms stay apart, in light and in dark, for eyes that see all colours and for those that do not."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from colours import EYES, apart, contrast
from driftbandits.service.dashboard.routes import STATIC
from driftbandits.service.dashboard.view_json import MOST_DRAWN

STYLE = (STATIC / "style.css").read_text(encoding="utf-8")
LOOK = re.search(
    r"lookOf = arm => \(\{ colour: `--c\$\{arm % (\d+)\}`, dash: DASHES\[Math.floor\(arm / (\d+)\) % (\d+)\], "
    r"mark: MARKS\[arm % (\d+)\]",
    (STATIC / "palette.js").read_text(encoding="utf-8"),
)


def both(name: str) -> tuple[str, str]:
    found = re.search(rf"--{name}: light-dark\((#\w+), (#\w+)\)", STYLE)
    assert found, name
    light, dark = (
        each if len(each) == 7 else "#" + "".join(2 * digit for digit in each[1:]) for each in found.groups()
    )
    return light, dark


@pytest.mark.parametrize("theme", [0, 1])
def test_arms_that_share_line_and_mark_have_colours_that_all_eyes_tell_apart(theme: int) -> None:
    assert LOOK
    hues, run, dashes, marks = map(int, LOOK.groups())
    assert hues == run  # a new line for each round of colours
    colours = [both(f"c{index}")[theme] for index in range(hues)]
    for colour in colours:
        assert contrast(colour, both("card")[theme]) >= 3.0
    looks = [(colours[arm % hues], arm // run % dashes, arm % marks) for arm in range(MOST_DRAWN)]
    for (one, *pattern), (other, *another) in combinations(looks, 2):
        if pattern == another:
            assert min(apart(one, other, eyes) for eyes in EYES) >= 0.08
        elif pattern[0] == another[0]:
            assert apart(one, other, "all colours") >= 0.08
