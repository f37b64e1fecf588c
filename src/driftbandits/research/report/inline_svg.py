"""A figure's SVG file, made fit to stand inside a page among others."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline_svg(path: Path, prefix: str, label: str) -> str:
    """The ``<svg>`` element of a file, read out as ``label``, with every id and reference to one behind ``prefix``.

    Matplotlib calls things by the same names in every figure, and a page may hold each name once. Its metadata and its
    style sheet, which would reach the whole page, are left out; the size is the page's to choose, so the natural width
    in points is handed over as the CSS variable ``--width``.
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
    return _REFERENCE.sub(rf"url(#{prefix}\1)", value)
