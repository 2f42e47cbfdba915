"""Programs: steps one after the other, with their law and γ in whole numbers, read and written as plain data."""

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
    """Steps one after the other; ``read`` and ``write`` say how values become codes and codes become reports."""

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
        return self.steps[-1].outputs if self.steps else self.size

    @cached_property
    def words(self) -> int:
        """How many words a report takes."""
        return sum(step.words for step in self.steps)

    def draw(self, code: Numbers, words: Sequence[Numbers]) -> Numbers:
        """Report codes for true codes: one code and its words, or an array and one array a word."""
        used = 0
        for step in self.steps:
            code = step.draw(code, words[used : used + step.words])
            used += step.words
        return code

    def law(self, first: Codes | None = None, codes: Codes | None = None) -> Floats:
        """P[report code, true code]; with ``first`` the rows summed over runs of report codes, with ``codes`` the
        columns of these true codes."""
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
        """How many entries the largest of the tables has that make the law, or ``rows`` of it."""
        last = (self.outputs if rows is None else rows) * (self.steps[-1].inputs if self.steps else self.size)
        inner = [step.inputs * step.outputs for step in self.steps[:-1] if not isinstance(step, Map)]
        return max([last, *inner])

    def _check_law(self, rows: int | None) -> None:
        if self._entries(rows) > MOST_ENTRIES:
            raise ValueError(
                f"the law has {self._entries(rows):,} entries, more than the {MOST_ENTRIES:,} that can be held; "
                "use a coarser step=, or fewer categories"
            )

    @cached_property
    def gamma(self) -> Fraction | None:
        """The largest ratio within a row of the law; None: infinite.

        Of one step exactly. Of several exactly where the product is small; else from the law in floats, rounded up, and
        never above that of any step: what is done before or after a step reveals no more.
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
        held = program._entries(None if runs is None else runs.size) <= MOST_ENTRIES
        found = largest_ratio(program.law(runs)) if held else math.inf
        bounds += [Fraction(found) * (1 + Fraction(1, 10**9))] if math.isfinite(found) else []
        return min(bounds, default=None)

    def _before_spread(self) -> tuple[Program, Codes | None]:
        """A program and runs of its reports with the same γ: the reports of a closing spread's run have proportional
        rows."""
        *before, last = self.steps
        if before and isinstance(last, Spread):
            return Program(self.size, tuple(before)), last.starts
        return self, None

    def exact(self, most: int = EXACT_PRODUCT) -> NDArray[Any] | None:
        """Whole numbers proportional to the law, one common factor for all; None where that takes too much work."""
        work = sum(a.inputs * a.outputs * b.outputs for a, b in zip(self.steps, self.steps[1:], strict=False))
        if work > most or (self.steps and self.steps[0].inputs * self.steps[0].outputs > most):
            return None
        product = np.eye(self.size, dtype=int).astype(object)
        for place, step in enumerate(self.steps):
            table = np.array(step.exact(), dtype=object)
            product = table if place == 0 else table @ product
        return product

    def to_dict(self) -> dict[str, Any]:
        """The program as plain data: whole numbers, and words as sixteen hexadecimal digits."""
        steps = [step.to_dict() for step in self.steps]
        return {"program": 1, "words": self.words, "read": self.read, "steps": steps, "write": self.write}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Program:
        """The program that ``to_dict`` wrote."""
        check_nesting(data, "the program")
        version = given(data, "program")
        if version != 1:
            raise ValueError(f"program = {version!r} is not version 1; this interpreter reads version 1")
        read, write = given_table(data, "read"), given_table(data, "write")
        size = first = given_whole(read, "size", 1, MOST_CODES)
        steps: list[Step] = []
        for each in given_rows(data, "steps"):
            if given(each, "step") not in list(Step.kinds):
                raise ValueError(f"step {each['step']!r} is unknown; known are {', '.join(Step.kinds)}")
            steps.append(Step.kinds[each["step"]].from_dict(each, size))
            size = steps[-1].outputs
        if "size" in write and size != given_whole(write, "size", 1, WIDEST):
            raise ValueError("the last step has other codes than are written; write the program again")
        return cls(first, tuple(steps), dict(read), dict(write))
