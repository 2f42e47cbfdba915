"""Channels: what stands between a person's value and their report.

A *channel* is the mechanism of one value at one level, a known table of P(reported | true); everything else follows
from it. A subclass of ``Channel`` states its spaces of codes, its parameters and the steps of its program; law, γ,
drawing, coarser tables, guarantees, identity and composition are derived here and overridden only for speed.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.balanced import Balanced
from sfumato.channels.identity import CodeSpace, identity_of, noise_part, read_space, write_space
from sfumato.channels.mechanism import Mechanism, Rng, mechanism_from_spec
from sfumato.channels.program import Program, Step
from sfumato.channels.program.interpreter import report_array
from sfumato.channels.program.random_words import Key, WordSource
from sfumato.domain import (
    MISSING,
    Categories,
    Cells,
    Codes,
    Domain,
    Floats,
    Grid,
    Interval,
    domain_to_spec,
    is_missing,
    showing_values,
)
from sfumato.guarantee import Guarantee, rounded_up


class Channel(Mechanism):
    """The blur between a person's value and their report.

    Domain: ``domain``, what a person may answer.
    Law: ``law()``, P[reported, true] over the codes of ``outputs`` and ``inputs``; columns sum to 1.
    γ: the largest ratio within a row of the law.
    """

    inputs: CodeSpace
    outputs: CodeSpace
    right_on_average: ClassVar[bool] = False  # E[report | x] = x

    def __init__(self, domain: Domain, missing: str = "pass", outside: str = "refuse") -> None:
        if missing not in ("pass", "refuse"):
            raise ValueError(f"missing={missing!r} is unknown; use 'pass' or 'refuse'")
        if outside not in ("refuse", "clamp"):
            raise ValueError(f"outside={outside!r} is unknown; use 'refuse' or 'clamp'")
        self.domain = domain
        self.missing: Literal["pass", "refuse"] = missing  # type: ignore[assignment]
        self.outside: Literal["refuse", "clamp"] = outside  # type: ignore[assignment]

    # --- what a subclass states ---------------------------------------------------------------------------------

    def steps(self) -> tuple[Step, ...]:
        """The steps from a true code to a report code; a channel without steps states its own program and law."""
        raise TypeError(f"{self.kind} is not drawn step by step; read its program() and its law()")

    def interval_width(self, confidence: float) -> float | None:
        """Width of the interval that holds the true value with this confidence (AS00 §2); None: read it off the law."""
        return None

    def balanced(self) -> Balanced | None:
        """The law as one of two values, where it is one: then shares follow without a table."""
        return None

    def for_measuring(self) -> Channel:
        """The channel whose law information is measured on: this one, or its like on a coarser grid if too large."""
        return self

    # --- the program --------------------------------------------------------------------------------------------

    @cached_property
    def drawing(self) -> Program:
        """The program behind ``program()``."""
        return Program(self.entry.size, self.steps(), read_space(self.entry), write_space(self.outputs, self.domain))

    @property
    def entry(self) -> CodeSpace:
        """The codes that the program starts from."""
        return self.inputs

    @cached_property
    def entry_codes(self) -> Codes | None:
        """The code that the program starts from for every true code, in rising order; None where both are the same."""
        return None if self.entry is self.inputs else self.entry.encode(self.inputs.decode(np.arange(self.inputs.size)))

    def program(self) -> dict[str, Any]:
        return self.drawing.to_dict()

    @cached_property
    def noise_identity(self) -> str:
        return identity_of({"domain": domain_to_spec(self.domain), **noise_part(self.program())})

    @property
    def levels(self) -> Mapping[str | None, Channel]:
        return {None: self}

    @cached_property
    def exact_gamma(self) -> Fraction | None:
        """γ in whole numbers; None: infinite."""
        return self.drawing.gamma

    @cached_property
    def gamma(self) -> float:
        """The largest ratio of two probabilities of one report, rounded up."""
        return rounded_up(self.exact_gamma)

    def law(self) -> Floats:
        """P[reported, true], one row per report code and one column per true code."""
        return self._law_at(self.entry_codes)

    def _law_at(self, codes: Codes | None, first: Codes | None = None) -> Floats:
        """P[reported, code that the program starts from] for these codes (None: all), as it is drawn; with ``first``
        the rows summed over runs of report codes that begin there."""
        return self.drawing.law(first, codes)

    # --- drawing reports ----------------------------------------------------------------------------------------

    def randomize(
        self, values: ArrayLike, rng: Rng = None, *, level: Any = None, key: Key = None, question: str = ""
    ) -> Any:
        """Reports for values, in the same shape; the input is not touched.

        ``rng=None`` draws secure noise; a NumPy Generator or a seed is for simulation. With ``key`` (a device's own
        secret) and ``question`` the same value always gets the same report; ``Device`` also remembers what it told.

        >>> import sfumato as sf
        >>> sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=1.0).randomize(["yes", "no"]).tolist()
        ['yes', 'no']
        """
        if level is not None:
            self.level(level)
        source = self._source(rng, key, question)
        if isinstance(values, (str, int, float, np.generic)) or values is None:
            return self._report_one(values, source)
        reports = report_array(self, values, source)
        return reports.item() if getattr(reports, "ndim", 1) == 0 else reports

    def _report_one(self, value: Any, source: WordSource) -> Any:
        """The same work for every value and outcome."""
        code = self.encode_one(value)
        report = self.drawing.draw(max(code, 0), source.row(code, self.drawing.words))
        return self.outputs.value_of(report) if code >= 0 else self.outputs.decode(np.array(MISSING)).item()

    def encode_one(self, value: Any) -> int:
        """``encode`` of a single value."""
        if is_missing(value):
            return int(self.check_missing(np.array(MISSING)))
        if isinstance(self.domain, Interval) and type(value) in (int, float):
            whole = not self.domain.integer or value == int(value)
            if whole and self.domain.low <= value <= self.domain.high:
                return self.entry.code_of(float(value))
        if isinstance(self.entry, Categories):
            return self.entry.code_of(value)
        return int(self.encode_entry(value))

    def encode(self, values: ArrayLike) -> Codes:
        """True codes of values, each with the law of the value: the nearest code, or the next one that enters the
        program where the value does. −1 for missing; an error names the row of a value outside the domain."""
        codes = self._encode(values, self.inputs)
        if self.entry_codes is None:
            return codes
        entered = self._encode(values, self.entry)
        alike = (codes < 0) | (self.entry_codes[codes] == entered)
        return np.where(alike, codes, np.searchsorted(self.entry_codes, entered))

    def encode_entry(self, values: ArrayLike, first_row: int = 0) -> Codes:
        """The codes that the program starts from."""
        return self._encode(values, self.entry, first_row)

    def _encode(self, values: ArrayLike, space: CodeSpace, first_row: int = 0) -> Codes:
        if isinstance(self.domain, Interval):
            numbers = self.domain.clean(values, clamp=self.outside == "clamp", first_row=first_row)
            return self.check_missing(space.encode(numbers), first_row)
        return self.check_missing(space.encode(values, first_row), first_row)  # type: ignore[call-arg]

    def check_missing(self, codes: Codes, first_row: int = 0) -> Codes:
        """The same codes, refused if one is missing and the channel does not pass missing values."""
        if self.missing == "refuse" and (codes == MISSING).any():
            row = f" in row {first_row + int(np.flatnonzero(codes == MISSING)[0]) + 1:,}" if codes.ndim else ""
            raise ValueError(f"a value is missing{row} and the channel refuses that; fill it or use missing='pass'")
        return codes

    def encode_reports(self, reports: ArrayLike) -> Codes:
        """Report codes; raw noisy numbers go to the nearest code, beyond the ends to the end codes; missing is −1."""
        with showing_values():  # a report is what was sent, not an answer
            return self.outputs.encode(reports)

    def report_codes(self, codes: Codes, source: WordSource) -> Codes:
        """Report codes for true codes; missing stays missing."""
        flat = np.atleast_1d(codes).ravel()
        if self.entry_codes is not None:
            flat = np.where(flat < 0, MISSING, self.entry_codes[flat])
        words = source.rows(flat, self.drawing.words)
        reports = self.drawing.draw(np.maximum(flat, 0), list(words.T))
        return np.where(flat < 0, MISSING, reports).reshape(np.shape(codes))

    # --- tables -------------------------------------------------------------------------------------------------

    def matrix(self, true: ArrayLike | None = None, reported: ArrayLike | None = None) -> Floats:
        """P[reported, true].

        ``true=None``: a column for every true code. ``true=edges``: a column for every interval, x uniform inside.
        ``reported=None``: a row for every report code. ``reported=edges``: a row for every cell, the end cells open.
        """
        starts = None if reported is None else self.first_codes(check_edges(reported, "reported"))
        if true is None:
            return self._law_at(self.entry_codes, starts)
        return np.asarray(self._law_at(None, starts) @ self._entry_weights(check_edges(true, "true")))

    def cells_of_codes(self, edges: ArrayLike) -> Codes:
        """For every report code the cell between ``edges`` that its value lies in; the two end cells are open."""
        bounds = check_edges(edges, "reported")
        values = self._numeric(self.outputs).values
        return np.asarray(np.clip(np.searchsorted(bounds, values, side="right") - 1, 0, bounds.size - 2))

    def first_codes(self, edges: Floats) -> Codes:
        """The first report code at or above each cell's lower edge."""
        first = np.searchsorted(self.cells_of_codes(edges), np.arange(edges.size - 1), side="left")
        return first.astype(np.int64)

    def interval_weights(self, edges: Floats) -> Floats:
        """W[true code, interval]: the share of each code in a value drawn uniformly from the interval."""
        return self._shares(self._numeric(self.inputs), edges)

    def _entry_weights(self, edges: Floats) -> Floats:
        """The same for the codes that the program starts from: exact where they are classes of the values."""
        if self.entry_codes is None:
            return self.interval_weights(edges)
        if not self._numeric(self.inputs).integer:
            return self._shares(self._numeric(self.entry), edges)
        entered = np.arange(self.entry.size)[:, None] == self.entry_codes
        return np.asarray(entered @ self.interval_weights(edges))

    def _shares(self, grid: Grid | Cells, edges: Floats) -> Floats:
        if isinstance(grid, Grid) and grid.integer:
            place = np.clip(np.searchsorted(edges, grid.values, side="right") - 1, 0, edges.size - 2)
            inside = (grid.values >= edges[0]) & (grid.values <= edges[-1]) & (grid.values == np.rint(grid.values))
            weights = (place[:, None] == np.arange(edges.size - 1)) & inside[:, None]
            overlap = weights.astype(float)
        else:
            low, high = grid.edges[:-1].copy(), grid.edges[1:].copy()
            low[0], high[-1] = min(low[0], edges[0]), max(high[-1], edges[-1])
            overlap = np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1])
            overlap = np.maximum(overlap, 0.0)
        total = overlap.sum(axis=0)
        if (total <= 0).any():
            empty = int(np.flatnonzero(total <= 0)[0])
            bounds = f"[{edges[empty]:g}, {edges[empty + 1]:g})"
            raise ValueError(f"interval {bounds} holds no value of the domain ({self.domain}); use wider intervals")
        return np.asarray(overlap / total)

    def _numeric(self, space: CodeSpace) -> Grid:
        if isinstance(space, Categories):
            raise ValueError(f"{self.kind} works on categories; call matrix() without edges")
        return space  # type: ignore[return-value]

    # --- statements ---------------------------------------------------------------------------------------------

    @property
    def visible(self) -> tuple[str, ...]:
        """What the collector sees besides the report: whether there is an answer, unless everybody must give one."""
        return ("missing",) if self.missing == "pass" else ()

    def guarantee(self, prior: Any = None, *, language: str = "en") -> Guarantee:
        """What one report can reveal; ``prior`` is a flat belief unless given (probabilities over equal intervals of
        the domain or over the categories, a mapping from category to probability, or an Estimate)."""
        return Guarantee.of_channel(self, prior, language)

    def to_spec(self) -> dict[str, Any]:
        rules = {"missing": (self.missing, "pass"), "outside": (self.outside, "refuse")}
        own = {name: rule for name, rule in rules.items() if name in self.parameter_names()}  # else a part states them
        return {**super().to_spec(), **{name: chosen for name, (chosen, usual) in own.items() if chosen != usual}}

    def __rshift__(self, other: Channel) -> Channel:
        """``noise >> rounding``: a `Chain`, one channel after the other."""
        chain: Any = Mechanism.registry["chain"]
        return chain(self, other)  # type: ignore[no-any-return]


def channel_from_spec(domain: Domain, spec: Mapping[str, Any]) -> Channel:
    """The same where only a single channel will do."""
    found = mechanism_from_spec(domain, spec)
    if not isinstance(found, Channel):
        raise ValueError(f"channel = {found.kind!r} is not a single channel; choose one without levels")
    return found


def check_edges(edges: ArrayLike, name: str) -> Floats:
    """Edges as an increasing array of at least two finite numbers."""
    bounds = np.asarray(edges, dtype=float)
    if bounds.ndim != 1 or bounds.size < 2:
        raise ValueError(f"{name} needs at least two edges in one row; got shape {bounds.shape}")
    if not np.isfinite(bounds).all() or (np.diff(bounds) <= 0).any():
        raise ValueError(f"{name} edges are not increasing finite numbers; sort them and drop repeats")
    return bounds
