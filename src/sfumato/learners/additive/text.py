"""An additive model to read: a formula, and one panel a term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Floats
from sfumato.learners.additive.terms import Factor, Term
from sfumato.learners.tree.text import number

CURVE = 101
PANELS_IN_A_ROW = 4
LINES = 5  # values of the second factor of a product that are drawn


@dataclass(frozen=True)
class FittedTerm:
    """One term: in words, its coefficient in the columns' own units for every class but the first, and its knots; each
    with its standard error."""

    words: str
    coefficients: Floats
    stderr: Floats
    knots: Floats
    knots_stderr: Floats

    def knot_intervals(self, z: float = 1.96) -> Floats:
        """A row [low, high] for each knot: 95 % unless another z is given."""
        return np.column_stack([self.knots - z * self.knots_stderr, self.knots + z * self.knots_stderr])


def formula_of(classes: Sequence[Any], intercepts: Floats, terms: Sequence[FittedTerm]) -> str:
    """One line for each class but the first: its log-odds against the first one, coefficients with their errors."""
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
    """One panel a term: what it adds to each class's log-odds against the first, over its first column; of a product
    one line for each of a few values of the second."""
    import matplotlib.pyplot as plt

    if axes is None:
        axes = panels(plt, max(len(terms), 1))
    for k, (ax, term) in enumerate(zip(axes, terms, strict=False)):
        first, rest = term.factors[0], term.factors[1:]
        for scale, label in lines_of(rest, names):
            for y, name in enumerate(classes[1:]):
                draw_factor(ax, first, scale * beta[y, 1 + k], ", ".join(filter(None, (str(name), label))))
        if first.labels is None:
            ax.xaxis.set_major_locator(plt.MaxNLocator(4))
            ax.xaxis.set_major_formatter(lambda x, _: number(x))
        ax.set_xlabel(names[first.column], parse_math=False)
        ax.set_ylabel(f"log-odds against {classes[0]}", parse_math=False)
        ax.set_title(term.words(names), fontsize="small", parse_math=False)
        if len(classes) > 2 or rest:
            ax.legend(fontsize="x-small")
    return axes


def panels(plt: Any, count: int) -> Any:
    """Axes side by side, at most four in a row."""
    wide = min(count, PANELS_IN_A_ROW)
    rows = -(-count // wide)
    figure, axes = plt.subplots(rows, wide, figsize=(3.6 * wide, 3 * rows), squeeze=False, layout="constrained")
    for spare in axes.ravel()[count:]:
        figure.delaxes(spare)
    return axes.ravel()[:count]


def lines_of(rest: Sequence[Factor], names: Sequence[str]) -> list[tuple[float, str]]:
    """The values that the other factor takes, and what is said of them."""
    if not rest:
        return [(1.0, "")]
    factor = rest[0]
    if factor.labels is not None:
        return [(1.0, f"{names[factor.column]} = {factor.labels[factor.label]}")]
    x = points_of(factor, LINES)
    return [
        (float(value), f"{names[factor.column]} = {number(at)}")
        for at, value in zip(x, factor.values([x] * (factor.column + 1)), strict=True)
    ]


def draw_factor(ax: Any, factor: Factor, coefficient: float, label: str) -> None:
    if factor.labels is not None:
        ax.bar([str(each) for each in factor.labels], coefficient * (np.arange(len(factor.labels)) == factor.label),
               label=label, alpha=0.6)
        return
    x = points_of(factor, CURVE)
    ax.plot(x, coefficient * factor.values([x] * (factor.column + 1)), label=label)


def points_of(factor: Factor, count: int) -> Floats:
    """Places over the width of a column: from its end on, or around a knot."""
    below = 0.5 if factor.hinge else 0.0 if factor.sign > 0 else 1.0
    low = factor.knot - below * factor.unit
    return np.linspace(low, low + factor.unit, count)
