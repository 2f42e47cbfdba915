"""Drawing programs as objects: they draw reports, state their law and γ, and are read and written as plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.program.alias import (
    EXACT_PRODUCT,
    MOST_ENTRIES,
    WIDEST,
    Numbers,
)
from sfumato.channels.program.ratios import largest_of, largest_ratio
from sfumato.channels.program.steps import Map, Spread, Step
from sfumato.domain import MOST_CODES, Codes, Floats
from sfumato.domain.checked import given, given_rows, given_table, given_whole
from sfumato.tables import check_nesting


@dataclass(frozen=True, eq=False)
class Program:
    """The program by which a device draws a report: steps one after the other, each from a code to the next.

    A code is the whole number that stands for a value or a report; random 64-bit words decide the draw.

    ``size``: how many codes the program starts from. ``read`` and ``write``: how values become codes and codes become
    reports, as docs/programs.md describes them.
    """

    size: int
    steps: tuple[Step, ...]
    read: dict[str, Any] = field(default_factory=dict)
    write: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = self.size
        for step in self.steps:
            if step.inputs != size:
                raise ValueError(f"a {step.name} step takes {step.inputs} codes and gets {size}; they must agree")
            size = step.outputs

    @property
    def outputs(self) -> int:
        """How many report codes there are."""
        return self.steps[-1].outputs if self.steps else self.size

    @cached_property
    def words(self) -> int:
        """How many random 64-bit words a report takes."""
        return sum(step.words for step in self.steps)

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        """Return the report code that a true code and its random words lead to, or an array of them for arrays."""
        used = 0
        for step in self.steps:
            code = step.draw(code, words[used : used + step.words])
            used += step.words
        return code

    def law(self, first: Codes | None = None, codes: Codes | None = None) -> Floats:
        """Return the table of chances P[report code, true code].

        ``first``: sums the rows over runs of report codes that begin at these codes. ``codes``: the true codes of the
        columns; None: all.
        """
        if codes is not None:
            return Program(codes.size, (Map(codes, self.size), *self.steps)).law(first)
        self._check_law(None if first is None else first.size)
        if not self.steps:
            return Map(np.arange(self.size), self.size).law(first)
        table = self.steps[-1].law(first)
        for step in self.steps[-2::-1]:
            table = table[:, step.codes] if isinstance(step, Map) else table @ step.law()
        return table

    def _entries(self, rows: int | None = None) -> int:
        """Return how many entries the largest table has that computing the law takes.

        ``rows``: how many rows of the law are wanted; None: all.
        """
        last = (self.outputs if rows is None else rows) * (self.steps[-1].inputs if self.steps else self.size)
        inner = [step.inputs * step.outputs for step in self.steps[:-1] if not isinstance(step, Map)]
        return max([last, *inner])

    def _check_law(self, rows: int | None) -> None:
        """Raise an error if the table of chances, or ``rows`` of its rows, takes more memory than is allowed."""
        if self._entries(rows) > MOST_ENTRIES:
            raise ValueError(
                f"the law has {self._entries(rows):,} entries, more than the {MOST_ENTRIES:,} that can be held; "
                "use a coarser step=, or fewer categories"
            )

    @cached_property
    def gamma(self) -> Fraction | None:
        """γ, the largest ratio within a row of the law, as a fraction; None: infinite.

        Exact for one step, and for several whose product is small. Else computed from the law in floats and rounded up,
        but never above the γ of any step: what is done before or after a step reveals no more.
        """
        if max([self.size, *(step.outputs for step in self.steps)]) > MOST_CODES:
            raise ValueError(f"a step has more than {MOST_CODES:,} codes, too many to state γ; write the program again")
        stochastic = [step for step in self.steps if step.words]
        if not stochastic:
            identity = not self.steps and self.size > 1
            return None if identity else self.steps[0].gamma() if self.steps else Fraction(1)
        if len(self.steps) == 1:
            return self.steps[0].gamma()
        bounds = [gamma for gamma in (step.gamma() for step in self.steps) if gamma is not None]
        product = self.exact()
        if product is not None:
            return largest_of(product.tolist())
        program, runs = self._before_spread()
        fits = program._entries(None if runs is None else runs.size) <= MOST_ENTRIES
        ratio = largest_ratio(program.law(runs)) if fits else math.inf
        bounds += [Fraction(ratio) * (1 + Fraction(1, 10**9))] if math.isfinite(ratio) else []  # floats round by 1e-15
        return min(bounds, default=None)

    def _before_spread(self) -> tuple[Program, Codes | None]:
        """Return (a program, the first codes of runs of its reports) whose smaller table has the same γ as this one.

        It leaves out a last step that draws evenly within runs of codes (``Spread``), because the reports of one run
        have proportional rows. Without such a last step: (itself, None).
        """
        *before, last = self.steps
        if before and isinstance(last, Spread):
            return Program(self.size, tuple(before)), last.starts
        return self, None

    def exact(self, most: int = EXACT_PRODUCT) -> NDArray[Any] | None:
        """Return the table of chances P[report code, true code] in whole numbers, all times one common factor.

        None where that takes more than ``most`` multiplications.
        """
        work = sum(a.inputs * a.outputs * b.outputs for a, b in zip(self.steps, self.steps[1:], strict=False))
        if work > most or (self.steps and self.steps[0].inputs * self.steps[0].outputs > most):
            return None
        product = np.eye(self.size, dtype=int).astype(object)
        for index, step in enumerate(self.steps):
            table = np.array(step.exact(), dtype=object)
            product = table if index == 0 else table @ product
        return product

    def to_dict(self) -> dict[str, Any]:
        """Return the program as plain data: whole numbers, and words as sixteen hexadecimal digits."""
        steps = [step.to_dict() for step in self.steps]
        return {"program": 1, "words": self.words, "read": self.read, "steps": steps, "write": self.write}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Program:
        """Read the program that ``to_dict`` wrote; other data is an error that says what is wrong."""
        check_nesting(data, "the program")
        version = given(data, "program")
        if version != 1:
            raise ValueError(f"program = {version!r} is not version 1; this interpreter reads version 1")
        read, write = given_table(data, "read"), given_table(data, "write")
        size = first = given_whole(read, "size", 1, MOST_CODES)
        steps: list[Step] = []
        for row in given_rows(data, "steps"):
            if given(row, "step") not in list(Step.kinds):
                raise ValueError(f"step {row['step']!r} is unknown; known are {', '.join(Step.kinds)}")
            steps.append(Step.kinds[row["step"]].from_dict(row, size))
            size = steps[-1].outputs
        if "size" in write and size != given_whole(write, "size", 1, WIDEST):
            raise ValueError("the last step has other codes than are written; write the program again")
        return cls(first, tuple(steps), dict(read), dict(write))
