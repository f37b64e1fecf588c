"""Tables for LaTeX, to be printed as they are: booktabs' rules, escaped names, numbers with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{each: rf"\{each}" for each in "{}$&#%_"},
}


def escaped(text: str) -> str:
    r"""Text as LaTeX prints it, on one line.

    >>> escaped("100 % of mine_2 & {x}")
    '100 \\% of mine\\_2 \\& \\{x\\}'
    """
    return "".join(_ESCAPED.get(each, each) for each in " ".join(text.split()))


def number(value: float, reach: float | None = None) -> str:
    r"""A number; with ``reach``, half of its interval, both to two digits of that.

    >>> number(1234.567, 12.34), number(0.0123456, 0.00321), number(1234.56)
    ('$1{,}235 \\pm 12$', '$0.0123 \\pm 0.0032$', '$1{,}234.6$')
    """
    finite = reach is not None and math.isfinite(reach)
    digits = 1
    if finite and reach:
        digits = max(0, 1 - math.floor(math.log10(reach)))
    said = f"{value:,.{digits}f}" + (rf" \pm {reach:,.{digits}f}" if finite else "")
    return f"${said.replace(',', '{,}')}$"


def latex_table(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """A floating table whose cells are LaTeX already: the first column is text, the others are numbers."""
    body = [f"    {' & '.join(cells)} \\\\" for cells in (columns, *rows)]
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{caption}}}",
        rf"  \begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
        r"    \toprule",
        body[0],
        r"    \midrule",
        *body[1:],
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
