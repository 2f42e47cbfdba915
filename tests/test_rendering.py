"""Docstrings become text with lists of named items, and formulas MathML that needs no script."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import sfumato as sf

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
rendering = pytest.importorskip("rendering")


def rest(*lines: str) -> str:
    return "\n".join(rendering.as_rest(list(lines)))


def test_formula_lines_with_a_name_are_items_of_a_list() -> None:
    shown = rest("w = x + N(0, scale²).", "", "Law: q[k] = Φ(k).", "γ: ∞, the tails", "have no bound.")
    assert shown == "w = x + N(0, scale²).\n\n**Law**\n   q[k] = Φ(k).\n\n**γ**\n   ∞, the tails have no bound.\n"


def test_parameters_are_items_however_they_are_written() -> None:
    named, spaced = ["a, b: first", "c: second"], ["a, b  first", "c     second"]
    for lines in (named, spaced, ["``a``, ``b``: first. ``c``: second"]):
        shown = rest("Title.", "", *lines)
        assert "``a``, ``b``\n" in shown and "``c``\n   second" in shown


def test_indented_formulas_stay_as_they_are_and_text_is_no_markup() -> None:
    shown = rest("Fit *a* tree_.", "", "    p_x = q_x", "    r = s", "", ">>> 1 + 1", "2")
    assert r"Fit \*a\* tree\_." in shown
    assert "::\n\n    p_x = q_x\n    r = s" in shown and shown.endswith(">>> 1 + 1\n2\n")


def test_no_docstring_of_the_public_list_loses_a_word() -> None:
    for name in sf.__all__:
        text = getattr(sf, name).__doc__ or ""
        assert len(rest(*text.splitlines())) > 0.8 * len(" ".join(text.split())), name


def test_formulas_are_mathml() -> None:
    shown = rendering.mathml(r"\frac{1}{n} \sum_s P_{s,t}", True)
    assert shown.startswith('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">')
    assert "<mfrac>" in shown and "script" not in shown
