"""Formulas: plain text becomes MathML that says the same."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mathml import formula


def tree(text: str, *, display: bool = False) -> ElementTree.Element:
    return ElementTree.fromstring(formula(text, display=display))


def said(text: str, *, display: bool = False) -> str:
    """The formula in short: what is raised, lowered, under a root or above another, in brackets."""
    return _said(tree(text, display=display))


def _said(element: ElementTree.Element) -> str:
    parts = [_said(child) for child in element]
    match element.tag:
        case "msup":
            return "{}^[{}]".format(*parts)
        case "msub":
            return "{}_[{}]".format(*parts)
        case "msubsup":
            return "{}_[{}]^[{}]".format(*parts)
        case "msqrt":
            return f"√[{''.join(parts)}]"
        case "mfrac":
            return "[{}]÷[{}]".format(*parts)
        case "mover":
            return f"hat({parts[0]})"
        case "mspace":
            return " "
    return (element.text or "") + "".join(parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T (δ L)^(1/3)", "T(δL)^[1/3]"),
        ("√(c1 L/w)", "√[c_[1]L/w]"),
        ("1 + 6 √((τ − 1) L)", "1+6√[(τ−1)L]"),
        ("λ̂ = √(72 L/w)", "hat(λ)=√[72L/w]"),
        ("c6 L/λ_min + c10", "c_[6]L/λ_[min]+c_[10]"),
        ("⌈e¹²⌉ = 162,755", "⌈e^[12]⌉=162,755"),
        ("t₁ < t_(i+1)", "t_[1]<t_[i+1]"),
        ("Σ_i^n x_i", "∑_[i]^[n]x_[i]"),
        ("δ^(−2/3) L^0.5", "δ^[−2/3]L^[0.5]"),
        ("x^−2", "x^[−2]"),
        ("2 ln T", "2 ln T"),
        ("δ = 2.1e-05", "δ=2.1×10^[−5]"),
        ("|μ₁ − μ₂| ≥ λ̂′", "|μ_[1]−μ_[2]|≥hat(λ)′"),
        ("P′/(P′ + 1)", "P′/(P′+1)"),
        ("r(w)   w > 0", "r(w) w>0"),
    ],
)
def test_a_formula_says_what_its_text_says(text: str, expected: str) -> None:
    assert said(text) == expected


def test_no_bracket_grows_beyond_its_other_half() -> None:
    for text in ("λ ∈ (0, 1]", "sup{λ ∈ (0, 1] : w ≤ t"):
        assert {sign.get("stretchy") for sign in tree(text).iter("mo") if (sign.text or "") in "([{}])"} == {"false"}


def test_fractions_are_built_up_where_there_is_room() -> None:
    assert said("√((2 L)/w)", display=True) == "√[[2L]÷[w]]"
    assert said("λ̂/(6 δ) − 1/3", display=True) == "[hat(λ)]÷[6δ]−1/3"
    assert said("√((2 L)/w)") == "√[(2L)/w]"
    assert tree("x", display=True).attrib == {"display": "block"}


@given(st.text(alphabet="δλT12,. ()[]⌈⌉/^_√Σ|+−<>&\u0302e-", max_size=12))
@example("1e+1")
@example("T1e+1")
def test_any_text_is_set_without_loss_of_a_sign(text: str) -> None:
    kept = "".join(tree(text).itertext())
    exponents = len(re.findall("×10(?!−)", kept))  # of 1e+1 only the 1 is left
    for sign in "δλT√⌈+<&":
        expected = 0 if sign == "√" else text.count(sign)
        assert kept.count(sign) + (exponents if sign == "+" else 0) == expected
