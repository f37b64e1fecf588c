"""Docstrings as mkdocstrings shows them: examples are code, pages of docs/ are links."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?m)^>>> (?:.+\n?)+")
STAR = re.compile(r"(?<=\w)\*(?=_)")
"""The best of something, as in mu*_t, and not the beginning of italics."""
PAGE = re.compile(r"``docs/(\S+\.md)``")


class Examples(griffe.Extension):
    """Fences the examples of every docstring that is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            text = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value)
            obj.docstring.value = PAGE.sub(r"[\1](../\1)", STAR.sub(r"\*", text))
