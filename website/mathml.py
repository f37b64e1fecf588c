"""Formulas in plain text, as in UnicodeMath's linear format, set as MathML.

What can be written is a subset of Sargent's UnicodeMath: letters, ``λ̂``, numbers, ``x_min``, ``c0`` (an index without
a sign), ``x^(1/3)``, ``√(…)``, ``a/b``, any operator sign, and two blanks for a wide space. Every text is set somehow.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from markupsafe import Markup, escape

_HAT = "\N{COMBINING CIRCUMFLEX ACCENT}"
_TOKEN = re.compile(
    rf"""(?P<number>(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?(?:e[+-]\d+)?)
    |(?P<word>[A-Za-z]{{2,}})
    |(?P<name>[A-Za-zα-ωΑ-Ωℓ]){_HAT}?[′*]?(?:(?P<index>\d+))?
    |(?P<blank>\s+)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_SMALL = str.maketrans("₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹", "01234567890123456789")
_LOWERED, _RAISED = re.compile("[₀-₉]+"), re.compile("[⁰¹²³⁴-⁹]+")
_CLOSING = {"(": ")", "[": "]", "{": "}", "⌈": "⌉", "⌊": "⌋"}
_PREFIXES = "+-−±"
_LARGE = {"Σ": "∑", "Π": "∏"}
_SLASH = '<mo lspace="0" rspace="0">/</mo>'
_WIDE = '<mspace width="1.5em"></mspace>'
_THIN = '<mspace width="0.17em"></mspace>'
_BETWEEN_WORDS = '<mspace width="0.3em"></mspace>'


class _Node(NamedTuple):
    """A piece of MathML, and what its neighbours must know of it."""

    markup: str
    kind: str
    """``atom``, ``word``, ``operator`` or ``slash``."""
    inside: str = ""
    """For a group in parentheses: what stands between them."""
    number: bool = False


def formula(text: str, *, display: bool = False) -> Markup:
    """A formula as a ``math`` element: in a line of text, or on a line of its own with fractions built up.

    >>> print(formula("√(c1 L)"))
    <math><msqrt><mrow><msub><mi>c</mi><mn>1</mn></msub><mi>L</mi></mrow></msqrt></math>
    """
    inner = _Reader(text, stacked=display).read()
    return Markup(f'<math display="block">{inner}</math>' if display else f"<math>{inner}</math>")


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, text: str, stacked: bool) -> None:
        text = _LOWERED.sub(lambda found: "_" + found[0].translate(_SMALL), text)
        text = _RAISED.sub(lambda found: "^" + found[0].translate(_SMALL), text)
        self.tokens = list(_TOKEN.finditer(text))
        self.at = 0
        self.stacked = stacked

    def read(self) -> str:
        """All of it; a closing sign without an opening one is a sign like any other."""
        nodes = []
        while self.at < len(self.tokens):
            nodes += self.row("")
            if self.at < len(self.tokens):
                nodes.append(_sign(self.next()))
        return self.join(nodes)

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][0]

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def row(self, end: str) -> list[_Node]:
        """Everything up to ``end`` or to any other closing sign."""
        nodes: list[_Node] = []
        while (sign := self.peek()) and sign != end and sign not in _CLOSING.values():
            if sign.isspace():
                self.at += 1
                if len(sign) > 1 and nodes:
                    nodes.append(_Node(_WIDE, "operator"))
            elif sign == "/" and nodes:
                self.at += 1
                nodes.append(_Node(_SLASH, "slash"))
            else:
                nodes.append(self.scripted())
        return self.fractions(nodes)

    def fractions(self, nodes: list[_Node]) -> list[_Node]:
        """Built-up fractions, where formulas have room, except between plain numbers."""
        built: list[_Node] = []
        for node in nodes:
            if self.stacked and len(built) > 1 and built[-1].kind == "slash" and node.kind != "operator":
                above, below = built[-2], node
                if not (above.number and below.number) and above.kind != "operator":
                    sides = "".join(f"<mrow>{side.inside or side.markup}</mrow>" for side in (above, below))
                    built[-2:] = [_Node(f"<mfrac>{sides}</mfrac>", "atom")]
                    continue
            built.append(node)
        return built

    def scripted(self) -> _Node:
        """One atom with its index and its power."""
        base = self.atom()
        scripts: dict[str, str] = {}
        bears = base.kind != "operator" or base.markup == _fence("|")  # |x|^2
        while bears and self.peek() in ("_", "^") and self.peek() not in scripts:
            sign = self.next()
            scripts[sign] = self.script()
        if not scripts:
            return base
        tag = "msubsup" if len(scripts) == 2 else "msub" if "_" in scripts else "msup"
        parts = "".join(scripts[sign] for sign in ("_", "^") if sign in scripts)
        return _Node(f"<{tag}><mrow>{base.markup}</mrow>{parts}</{tag}>", "atom")

    def script(self) -> str:
        prefix = _sign(self.next()).markup if self.peek() in tuple(_PREFIXES) else ""
        node = self.atom() if self.peek() else _Node("", "atom")
        return f"<mrow>{prefix}{node.inside or node.markup}</mrow>"

    def atom(self) -> _Node:
        token = self.tokens[self.at]
        sign = self.next()
        if token["number"]:
            return _Node(_number(sign), "atom", number=True)
        if token["word"]:
            return _Node(f"<mi>{escape(sign)}</mi>", "word")
        if token["name"] and sign not in _LARGE:
            return _Node(_name(token), "atom")
        if sign == "√":
            node = self.atom() if self.peek() else _Node("", "atom")
            return _Node(f"<msqrt><mrow>{node.inside or node.markup}</mrow></msqrt>", "atom")
        if sign in _CLOSING:
            return self.group(sign)
        return _sign(sign)

    def group(self, opening: str) -> _Node:
        inside = self.join(self.row(_CLOSING[opening]))
        if self.peek() != _CLOSING[opening]:
            return _Node(_fence(opening) + inside, "atom")
        markup = f"<mrow>{_fence(opening)}{inside}{_fence(self.next())}</mrow>"
        return _Node(markup, "atom", inside if opening == "(" else "")

    def join(self, nodes: list[_Node]) -> str:
        """Side by side, with a little room around words such as ln."""
        written = ""
        for before, node in zip([None, *nodes], nodes, strict=False):
            if before and "word" in (before.kind, node.kind) and {before.kind, node.kind} <= {"word", "atom"}:
                written += _BETWEEN_WORDS if before.kind == node.kind else _THIN
            written += node.markup
        return written


def _number(text: str) -> str:
    digits, _, power = text.partition("e")
    if not power:
        return f"<mn>{digits}</mn>"
    exponent = f"<mo>−</mo><mn>{-int(power)}</mn>" if int(power) < 0 else f"<mn>{int(power)}</mn>"
    return f"<mn>{digits}</mn><mo>×</mo><msup><mn>10</mn><mrow>{exponent}</mrow></msup>"


def _name(token: re.Match[str]) -> str:
    letter = f"<mi>{token['name']}</mi>"
    if _HAT in token[0]:
        letter = f'<mover accent="true">{letter}<mo stretchy="false">^</mo></mover>'
    if "*" in token[0]:
        letter = f"<msup>{letter}<mo>*</mo></msup>"
    if "′" in token[0]:  # fonts draw it raised: raised once more it is a dot
        letter = f'<mrow>{letter}<mo lspace="0" rspace="0">′</mo></mrow>'
    return f"<msub>{letter}<mn>{token['index']}</mn></msub>" if token["index"] else letter


def _fence(sign: str) -> str:
    return f'<mo stretchy="false">{sign}</mo>'


def _sign(sign: str) -> _Node:
    if sign in ("∞", "…"):
        return _Node(f"<mi>{sign}</mi>", "atom")
    if sign in _LARGE:
        return _Node(f"<mo>{_LARGE[sign]}</mo>", "atom")
    if sign == "|" or sign in _CLOSING.values():
        return _Node(_fence(sign), "operator")
    return _Node(f"<mo>{escape(sign.replace('-', '−'))}</mo>", "operator")
