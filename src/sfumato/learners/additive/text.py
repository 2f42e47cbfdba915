"""An additive model as people read it: a formula, and a drawing with one panel a term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Floats
from sfumato.learners.additive.terms import Factor, Term
from sfumato.learners.tree.text import number

CURVE = 101
"""Points of a drawn line: one a pixel or two of a panel, so that a hinge looks sharp."""
PANELS_IN_A_ROW = 4
"""Panels side by side. By judgement; more make a figure wider than a page."""
LINES = 5
"""Values of the second factor of a product for which a line is drawn. By judgement; more lines cannot be told apart."""


@dataclass(frozen=True)
class FittedTerm:
    """One term of a fitted additive model, in the columns' own units.

    words: the term as a formula. coefficients: one for each class but the first. knots: of its hinges.
    stderr, knots_stderr: standard errors of both.
    """

    words: str
    coefficients: Floats
    stderr: Floats
    knots: Floats
    knots_stderr: Floats

    def knot_intervals(self, z: float = 1.96) -> Floats:
        """Return a confidence interval [low, high] for each knot.

        z: standard errors to each side; 1.96 are 95 %.
        """
        return np.column_stack([self.knots - z * self.knots_stderr, self.knots + z * self.knots_stderr])


def formula_of(classes: Sequence[Any], intercepts: Floats, terms: Sequence[FittedTerm]) -> str:
    """Write a line for each class but the first: its log-odds against the first one, coefficients with their errors."""
    lines = []
    for y, label in enumerate(classes[1:]):
        parts = [f"{intercepts[y]:.4g}"]
        for term in terms:
            value, error = float(term.coefficients[y]), float(term.stderr[y])
            size = f"({abs(value):.4g} ± {error:.2g})" if error > 0 else f"{abs(value):.4g}"
            knots = ", ".join(f"± {each:.2g}" for each in term.knots_stderr)
            parts.append(f"{'−' if value < 0 else '+'} {size} · {term.words}" + (f" [knot {knots}]" if knots else ""))
        lines.append(f"log P({label})/P({classes[0]}) = " + " ".join(parts))
    return "\n".join(lines)


def draw_terms(terms: Sequence[Term], beta: Floats, classes: Sequence[Any], names: Sequence[str], axes: Any) -> Any:
    """Draw one panel a term: what it adds to each class's log-odds against the first, over its first column.

    Of a product, one line is drawn for each of a few values of the second factor. names: of all columns.
    axes: matplotlib's, one a term; None: new ones. Return them.
    """
    import matplotlib.pyplot as plt

    if axes is None:
        axes = new_panels(plt, max(len(terms), 1))
    for k, (ax, term) in enumerate(zip(axes, terms, strict=False)):
        first, others = term.factors[0], term.factors[1:]
        for scale, label in lines_of(others, names):
            for y, name in enumerate(classes[1:]):
                draw_factor(ax, first, scale * beta[y, 1 + k], ", ".join(filter(None, (str(name), label))))
        if first.labels is None:
            ax.xaxis.set_major_locator(plt.MaxNLocator(4))
            ax.xaxis.set_major_formatter(lambda x, _: number(x))
        ax.set_xlabel(names[first.column], parse_math=False)
        ax.set_ylabel(f"log-odds against {classes[0]}", parse_math=False)
        ax.set_title(term.words(names), fontsize="small", parse_math=False)
        if len(classes) > 2 or others:
            ax.legend(fontsize="x-small")
    return axes


def new_panels(plt: Any, count: int) -> Any:
    """Return matplotlib axes for so many panels, four in a row at most. plt: the module matplotlib.pyplot."""
    wide = min(count, PANELS_IN_A_ROW)
    rows = -(-count // wide)
    figure, axes = plt.subplots(rows, wide, figsize=(3.6 * wide, 3 * rows), squeeze=False, layout="constrained")
    for spare in axes.ravel()[count:]:
        figure.delaxes(spare)
    return axes.ravel()[:count]


def lines_of(others: Sequence[Factor], names: Sequence[str]) -> list[tuple[float, str]]:
    """Return the values of a product's second factor for which lines are drawn, each with the words of its legend.

    others: the factors after the first; of none, one line without words.
    """
    if not others:
        return [(1.0, "")]
    factor = others[0]
    if factor.labels is not None:
        return [(1.0, f"{names[factor.column]} = {factor.labels[factor.label]}")]
    x = points_of(factor, LINES)
    return [
        (float(value), f"{names[factor.column]} = {number(at)}")
        for at, value in zip(x, factor.values([x] * (factor.column + 1)), strict=True)
    ]


def draw_factor(ax: Any, factor: Factor, coefficient: float, label: str) -> None:
    """Draw coefficient · factor over its column: bars for labels, else a line."""
    if factor.labels is not None:
        ax.bar([str(each) for each in factor.labels], coefficient * (np.arange(len(factor.labels)) == factor.label),
               label=label, alpha=0.6)
        return
    x = points_of(factor, CURVE)
    ax.plot(x, coefficient * factor.values([x] * (factor.column + 1)), label=label)


def points_of(factor: Factor, count: int) -> Floats:
    """Return so many values over the width of a factor's column: from its end on, of a hinge around its knot."""
    below = 0.5 if factor.hinge else 0.0 if factor.sign > 0 else 1.0
    low = factor.knot - below * factor.unit
    return np.linspace(low, low + factor.unit, count)
