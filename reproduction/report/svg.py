"""A figure's SVG file, made fit to stand inside a page among others."""

import re
from pathlib import Path
from xml.etree import ElementTree

_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_COLOUR = re.compile(r"\b(fill|stroke): (#[0-9a-f]{6})\b")


def inline_svg(path: Path, prefix: str, label: str) -> str:
    """The ``<svg>`` element of a file, read out as ``label``, with every id and reference to one behind ``prefix``.

    Matplotlib calls things by the same names in every figure, and a page may hold each name once. Its metadata and its
    style sheet, which would reach the whole page, are left out; the size is the page's to choose, so the natural width
    in points is handed over as the CSS variable ``--width``.

    Colours follow the page, so that a figure is dark where the page is: white is the card it stands on, black the
    page's ink, greys lie between them, and any other colour may be replaced by the page (``--on-0072b2``).
    """
    root = ElementTree.parse(path).getroot()
    for element in root.iter():
        for child in list(element):
            if _local(child.tag) in ("metadata", "style"):
                element.remove(child)
        element.tag = _local(element.tag)
        element.attrib = {_local(key): _renamed(_local(key), value, prefix) for key, value in element.attrib.items()}
    width = root.attrib["viewBox"].split()[2]
    root.attrib = {"viewBox": root.attrib["viewBox"], "style": f"--width: {width}", "role": "img", "aria-label": label}
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    return name.rsplit("}", 1)[-1]


def _renamed(key: str, value: str, prefix: str) -> str:
    if key == "id":
        return prefix + value
    if key == "href" and value.startswith("#"):
        return f"#{prefix}{value[1:]}"
    if key == "style":
        value = _COLOUR.sub(_followed, value)
    return _REFERENCE.sub(rf"url(#{prefix}\1)", value)


def _followed(found: re.Match[str]) -> str:
    """A colour as it was, for browsers that cannot mix colours, and then as the page has it."""
    name, colour = found[1], found[2]
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    if not red == green == blue:
        return f"{name}: var(--on-{colour[1:]}, {colour})"
    share = 100 - round(red / 2.55)
    return f"{name}: {colour}; {name}: color-mix(in srgb, var(--ink) {share}%, var(--card))"
