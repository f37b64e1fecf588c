"""Formulas of pages, which are written as plain text, set as MathML: no script, no font, no request."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from mathml import formula

TAG = re.compile(r"(<!--.*?-->|<[^>]+>)", re.DOTALL)
OPAQUE = ("code", "pre", "a", "math", "svg", "script", "style", "h1", "h2", "h3", "h4", "h5", "h6", "title")
"""Elements whose text stays as it is."""

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "kappa": "κ", "lambda": "λ",
    "lam": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "theta": "θ",
    "phi": "φ", "omega": "ω", "eps": "ε", "Delta": "Δ", "Omega": "Ω",
}  # fmt: skip
SIGNS = {"<-": "←", "<=": "≤", ">=": "≥", "!=": "≠", "+-": "±", " * ": " · "}
_HAT = "\N{COMBINING CIRCUMFLEX ACCENT}"
_NAME = re.compile(rf"(?<![A-Za-z])({'|'.join(sorted(GREEK, key=len, reverse=True))}|X(?=hat))(_?hat)?(?![A-Za-z-])")
_MINUS = re.compile(
    r"(?<=[\w)\]}⌋⌉|]) - (?=[\w(√|⌈⌊])|(?<!\de)(?<=[\w)])-(?=\d+\))|(?<=\^)-|(?<=[(\[])-(?=[\w.√])"
    r"|(?<=\s)-(?=[α-ω√])|(?<!\w[A-Za-z])(?<=[A-Za-z])-(?=\d)"
)
_LEVEL = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_PRIME = re.compile(r"(?<![A-Za-z'])([A-Za-zα-ω])'(?![A-Za-z'])")


def typeset(page: str) -> str:
    """The HTML of a page with its formulas as MathML.

    >>> typeset("<p>At most <code>T</code>, or sqrt(c1 L)</p>")[:44]
    '<p>At most <code>T</code>, or <math><msqrt><'
    """
    parts, inside = [], 0
    for piece in TAG.split(page):
        if found := re.match(r"<(/?)(\w+)", piece):
            if found[2] in OPAQUE and not piece.endswith("/>"):
                inside += -1 if found[1] else 1
        elif not inside and piece.strip() and not piece.startswith("<"):  # a comment is no text
            piece = _set(unicode(html.unescape(piece)))
        parts.append(piece)
    return "".join(parts)


def display(text: str) -> str:
    """A formula on a line of its own."""
    return f'<div class="formula">{formula(_spaced(unicode(text.strip())), display=True)}</div>'


def _set(text: str) -> str:
    if text.lstrip().startswith(("Citation:", "Not checked")):
        return html.escape(text, quote=False)
    written, at = "", 0
    for start, end in find(text):
        opened = start - text[at:start].endswith("(")
        closed = len(text) - len(text[end:].lstrip(_ENDS))
        one = text[opened:start] + str(formula(_spaced(text[start:end]))) + text[end:closed]
        if closed - opened > end - start:
            one = f'<span class="whole">{one}</span>'
        written += _plain(text[at:opened]) + one
        at = closed
    return written + _plain(text[at:])


_ENDS = ").,;:"
"""What never begins a line of its own."""


def _plain(text: str) -> str:
    """Words; the power of a bracket of words is raised as well."""
    text = re.sub(r"\^(\d)(?![\d.])", lambda found: "⁰¹²³⁴⁵⁶⁷⁸⁹"[int(found[1])], text)
    return html.escape(text, quote=False)


def _spaced(text: str) -> str:
    """On one line, with a blank between letters that are multiplied."""
    text = _PRODUCT.sub(lambda found: " ".join(found[0]), " ".join(text.split()))
    text = re.sub(r"(?<![A-Za-z])(?!KL\()([a-zKW])([LWT])(?!\w)", r"\1 \2", text)
    return re.sub(r"(?<![A-Za-z])[KLNX][KTLWdmnw]{1,2}(?![\w(])", lambda found: " ".join(found[0]), text)


def unicode(text: str) -> str:
    """The signs of mathematics for the words that docstrings use.

    >>> unicode("floor(sqrt(2 L / w)) <= delta t^alpha")
    '⌊√(2 L / w)⌋ ≤ δ t^α'
    """
    for sign, better in SIGNS.items():
        text = text.replace(sign, better)
    text = re.sub(r"\bsqrt\(", "√(", text)
    for name, left, right in (("ceil", "⌈", "⌉"), ("floor", "⌊", "⌋")):
        text = _fenced(text, name, left, right)
    text = _NAME.sub(lambda found: GREEK.get(found[1], found[1]) + _HAT * bool(found[2]), text)
    text = re.sub(r"(?<=[\w)])⁻([⁰¹²³⁴-⁹]+)", lambda found: f"^(-{found[1].translate(_LEVEL)})", text)
    text = _PRIME.sub(r"\1′", re.sub(r"\blog2\b", "log₂", text))
    return _MINUS.sub(lambda found: found[0].replace("-", "−"), text)


def _fenced(text: str, name: str, left: str, right: str) -> str:
    """``ceil(x)`` as ⌈x⌉."""
    while found := re.search(rf"\b{name}\(", text):
        depth, at = 1, found.end()
        while at < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        if depth:
            return text
        text = text[: found.start()] + left + text[found.end() : at - 1] + right + text[at:]
    return text


# ---- where formulas stand in a sentence

_NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]\d+)?(?![a-z]{2})")
_WORD = re.compile(r"[A-Za-z]{2,}")
_SYMBOL = re.compile(
    rf"(?:[α-ωΔΘΩΣ∞]|(?:(?<=[\dα-ω])[A-Za-z]|[A-Za-zℓ])(?![A-Za-z])){_HAT}?[′*]?\d*"
    r"|(?!KL\()[a-zKW][LWT](?!\w)|[KLNX][KTLWdmnw]{1,2}(?![\w(])"
)
_PRODUCT = re.compile(r"(?<=[\dα-ω])[A-Za-z]{1,3}(?![A-Za-z])")
"""Letters right after a number or a Greek letter are multiplied: 2wL."""
_RAISED = re.compile("[₀-₉]+|[⁰¹²³⁴-⁹]+")
_OPERATOR = re.compile(r"\s?(?:\.\.|…|[=≤≥<>≈+−±·×/←≠∈]|mod(?= ))\s?[−+]?")
_SIGN = re.compile(r"\s[−+](?=\S)")
"""Before a formula, and not between two: it is −S."""
_UNARY = re.compile(r"(?:ln|log₂?|exp|max|min)(?:\^\([^()]*\)|\b) ?")
_CLOSING = {"(": ")", "[": "]", "{": "}", "⌈": "⌉", "⌊": "⌋", "|": "|"}
_PLAIN = re.compile(r"(?:Claim|Corollary|Experiment|Figure|Lemma|[Ss]ection|Theorem) \d+|[\w'’.-]+")
_INITIALS = re.compile(r"(?:^|(?<=[,;:] )|(?<=after )|(?<=and ))(?:[A-Z]\.[ -]?)+(?=[A-Z][a-z])")
_SECONDS = re.compile(r"(?:\d[\d,.]*|n) s(?![\w'’^_(])")
_ALONE = re.compile(r"[B-HJ-Zb-zα-ωΔΘΩΣ].*", re.DOTALL)
"""A letter that is no English word."""


def find(text: str) -> Iterator[tuple[int, int]]:
    """Where the formulas of a sentence stand: what has the form of one, and a letter or a root in it.

    >>> text = "At t = g it is the largest mean + √((1 + α) ln t / n), not 1/2, over the last w pulls of an arm."
    >>> [text[start:end] for start, end in find(text)]
    ['t = g', 'mean + √((1 + α) ln t / n)', 'w']
    """
    at = 0
    while at < len(text):
        starts = at == 0 or not re.match(r"[\w'’.^\-–/\"“]", text[at - 1])
        if known := _INITIALS.match(text, at) or (starts and _SECONDS.match(text, at)):  # of an author; of a clock
            at = known.end()
            continue
        end = _expression(text, at) if starts and not text[at].isspace() else None
        if end is not None and _is_formula(text, at, end):
            yield at, end
            at = end
        elif starts and (word := _PLAIN.match(text, at)):
            at = max(word.end(), at + 1)
        else:
            at += 1


def _is_formula(text: str, start: int, end: int) -> bool:
    found, after = text[start:end], text[end : end + 3]
    if re.match(r"(?!['’]s\b)[\w'’^_]|-[A-Za-z]|\.\w", after):
        return False
    if re.match(r"[aAI] \d", found):
        return False  # a 95 % interval
    if re.fullmatch("[A-D]", found) and (text[:start].endswith("ppendix ") or (not start and after[:1] in ":,")):
        return False  # parts of a paper
    symbols = re.findall(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])|(?<=\d)[A-Za-z]|[α-ωΔΘΩΣ√⌈⌊_^∞]|\b(?:ln|log)\b", found)
    if re.fullmatch(r"\d*(?:st|nd|rd|th)", found):
        return False
    if len(found) <= 2:
        return bool(_ALONE.fullmatch(found) or re.fullmatch(r"\d[a-zα-ω]", found)) and bool(symbols)
    return bool(symbols)


def _expression(text: str, at: int) -> int | None:
    """The end of the longest expression that begins here."""
    if at < len(text) and text[at] in "−+":
        at += 1
    end, word = _operand(text, at)
    if end is None:
        return None
    certain = None if word else end
    while True:
        operator = _OPERATOR.match(text, end)
        if operator and not (word and _SIGN.match(text, end)):
            following, word = _operand(text, operator.end())
            if following is None:
                return certain
            end = certain = following
            continue
        if word:
            return certain
        beside = end + (text[end : end + 1].isspace())
        following, word = _operand(text, beside)
        article = beside > end and text[beside:following] in ("a", "A", "I") and text[following or 0 :][:1] != "/"
        if following is None or word or article:
            return certain
        end = certain = following


def _operand(text: str, at: int) -> tuple[int | None, bool]:
    """The end of an operand with its index and power, and whether it is a bare word."""
    word = False
    if unary := _UNARY.match(text, at):
        end, bare = _operand(text, unary.end())
        return (None, False) if end is None or bare else (end, False)
    if text[at : at + 1] == "√":
        end = _operand(text, at + 1)[0]
    elif text[at : at + 1] in _CLOSING and text[at : at + 1]:
        end = _group(text, at)
    elif found := _PRODUCT.match(text, at) or _NUMBER.match(text, at) or _SYMBOL.match(text, at):
        end = found.end()
        if text[end : end + 1] == "(":
            end = _group(text, end) or end
    elif found := _WORD.match(text, at):
        end, word = found.end(), True
        if text[end : end + 1] == "(":
            inner = _group(text, end)
            end, word = (inner, False) if inner else (end, True)
    else:
        return None, False
    if end is None:
        return None, False
    while True:
        if found := _RAISED.match(text, end):
            end, word = found.end(), False
        elif text[end : end + 1] in ("_", "^") and (after := _script(text, end + 1)):
            end, word = after, False
        else:
            return end, word


def _script(text: str, at: int) -> int | None:
    at += text[at : at + 1] in ("−", "-", "+")
    if text[at : at + 1] in ("(", "[", "⌈", "⌊"):
        return _group(text, at)
    found = re.compile(r"(?:[A-Za-z]+|\d+(?:\.\d+)?|[α-ω])′?").match(text, at)
    return found.end() if found else None


def _group(text: str, at: int) -> int | None:
    """The end of a bracket that holds nothing but expressions and commas."""
    closing = _CLOSING[text[at]]
    at += 1
    while True:
        end = _expression(text, at) or _operand(text, at)[0]
        if end is not None and (named := re.compile(r" [a-z]{2,}(?=\))").match(text, end)) and text[end - 1] == ")":
            end = named.end()  # as in (1 + x) batch
        elif end is not None and text[end : end + 2] == " √":
            end = _expression(text, end + 1)  # exploration √(k)
        if end is None:
            return None
        if text[end : end + 1] == closing:
            return end + 1
        comma = re.compile(r", ?|; ?| : ").match(text, end)
        if not comma:
            return None
        at = comma.end()
