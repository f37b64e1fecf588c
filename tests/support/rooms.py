"""Draw the rooms of the package and who imports whom, from the imports themselves: ``make docs`` writes docs/rooms.svg.

A row is a room, in the order of the layers in pyproject.toml, with the first line of its docstring. A line with an
arrow is a room that others import; a dot on it is one that does.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from html import escape
from itertools import count
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PACKAGE = "driftbandits"
FLOOR = ("_common", "errors")
"""What every room may import: the ground they stand on, drawn without lines."""

ROW, GAP, BOX, LANE, MARGIN = 30, 12, 880, 18, 16
STYLE = """
  .sheet { fill: #ffffff } .room { fill: #f1f4f8; stroke: #9aa7b8 } text { fill: #1c2733 }
  .line { fill: none; stroke: #3b6ea8; stroke-width: 1.5 } .dot, .tip { fill: #3b6ea8 }
  @media (prefers-color-scheme: dark) {
    .sheet { fill: #12181f } .room { fill: #1e2833; stroke: #5b6b7d } text { fill: #e3eaf2 }
    .line { stroke: #7fb2ec } .dot, .tip { fill: #7fb2ec }
  }
  text { font: 12.5px system-ui, "DejaVu Sans", sans-serif } .name { font-weight: 700 }"""


def layers() -> list[list[str]]:
    """The rooms from top to bottom; those of a layer together."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (listed,) = [each["layers"] for each in contracts if each.get("containers") == ["driftbandits"]]
    return [line.replace(":", "|").replace(" ", "").split("|") for line in listed]


def users() -> dict[str, set[str]]:
    """Who imports each room."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in graph.modules - {PACKAGE}:
        for imported in graph.find_modules_directly_imported_by(module):
            user, room = (name.split(".")[1] for name in (module, f"{imported}."))
            if room and user != room:
                found.setdefault(room, set()).add(user)
    return found


def says(room: str) -> str:
    """The first line of its docstring."""
    place = ROOT / "src" / PACKAGE / room
    source = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text(encoding="utf-8")
    return str(ast.get_docstring(ast.parse(source))).splitlines()[0].replace("``", "")


def lanes(spans: dict[str, tuple[int, int]]) -> dict[str, int]:
    """A place for every vertical line, short ones inside, so that no two lie on each other."""
    taken: dict[int, list[tuple[int, int]]] = {}
    found = {}
    for room, (top, bottom) in sorted(spans.items(), key=lambda item: (item[1][1] - item[1][0], item[1])):
        free = (at for at in count() if all(bottom < t or b < top for t, b in taken.get(at, [])))
        found[room] = next(free)
        taken.setdefault(found[room], []).append((top, bottom))
    return found


def draw() -> str:
    """The picture, as SVG."""
    rooms = [room for layer in layers() for room in layer]
    heights: dict[str, int] = {}
    below = MARGIN
    for layer in layers():
        for room in layer:
            heights[room] = below
            below += ROW + (4 if room != layer[-1] else GAP)
    order = {room: at for at, room in enumerate(rooms)}
    who_imports = users()
    imported = {room: who for room in rooms if room not in FLOOR and (who := who_imports.get(room, set()) & set(rooms))}
    place = lanes({room: (min(order[user] for user in who), order[room]) for room, who in imported.items()})
    right = MARGIN + BOX
    x = {room: right + LANE * (at + 1) for room, at in place.items()}
    width, height = max(x.values()) + MARGIN, below - GAP + MARGIN
    parts = [f'<rect class="sheet" width="{width}" height="{height}"/>']
    for room in rooms:
        y = heights[room]
        parts.append(f'<rect class="room" x="{MARGIN}" y="{y}" width="{BOX}" height="{ROW}" rx="4"/>')
        parts.append(f'<text class="name" x="{MARGIN + 12}" y="{y + 20}">{room}</text>')
        parts.append(f'<text x="{MARGIN + 100}" y="{y + 20}">{escape(says(room))}</text>')
        used = [x[other] for other, who in imported.items() if room in who]
        if used:
            parts.append(f'<path class="line" d="M{right} {y + 22}H{max(used)}"/>')
            parts += [f'<circle class="dot" cx="{at}" cy="{y + 22}" r="3"/>' for at in sorted(used)]
    for room, who in imported.items():
        top, bottom = min(heights[user] for user in who) + 22, heights[room] + 9
        parts.append(f'<path class="line" d="M{x[room]} {top}V{bottom}H{right + 6}"/>')
        parts.append(f'<path class="tip" d="M{right} {bottom}l8 -4v8z"/>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    title = "<title>The rooms of driftbandits, and which import which</title>"
    return "\n".join([head, title, f"<style>{STYLE}\n</style>", *sorted(parts, key=_layer), "</svg>"]) + "\n"


def _layer(part: str) -> int:
    """Boxes first, and dots above lines."""
    return next(at for at, kind in enumerate(("sheet", "room", "<text", "line", "tip", "dot")) if kind in part)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(), encoding="utf-8")
