"""The base class of channels: a channel turns one true value into a report by a known table P[reported, true].

A subclass of ``Channel`` states its spaces of codes, its parameters and the steps of its program; law, γ, drawing,
coarser tables, guarantees, identity and composition are derived here and overridden only for speed.
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
    """A method of blurring that turns one true value into a random report; the base class of all of one value.

    Domain: ``domain``, the values that a person may answer.
    Law: ``law()``, P[reported, true] over the codes of ``outputs`` and ``inputs``; columns sum to 1.
    γ: the largest ratio within a row of the law.

    ``domain``: an Interval, Categories or Items.
    ``missing``: what happens to a missing answer (None, NaN): "pass" reports it as missing, which the collector sees;
    "refuse" raises an error.
    ``outside``: what happens to a number outside the domain: "refuse" raises an error that names its row; "clamp" takes
    the nearest end of the domain. Categories know "refuse" only.

    >>> import sfumato as sf
    >>> channel = sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3)
    >>> isinstance(channel, sf.Channel), channel.law().tolist()
    (True, [[0.75, 0.25], [0.25, 0.75]])
    """

    inputs: CodeSpace  # the true codes
    outputs: CodeSpace  # the report codes
    right_on_average: ClassVar[bool] = False  # whether E[report | x] = x, as a mean without bias needs

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
        """Return the steps of the drawing program, which lead from the code of a true value to the code of a report.

        A channel that is not drawn step by step overrides ``program()`` and ``law()`` instead; here it is an error.
        """
        raise TypeError(f"{self.kind} is not drawn step by step; read its program() and its law()")

    def interval_width(self, confidence: float) -> float | None:
        """Return how wide an interval around a report must be to hold the true value with this chance.

        In units of the domain; the privacy measure of AS00 §2, one for all reports. ``confidence``: from 0 to 1. A
        channel without a formula for it returns None, and the guarantee then reads the width off the law.
        """
        return None

    def balanced(self) -> Balanced | None:
        """Return the law as one of two different chances, from which shares follow without a table.

        None: the law is not of this form (``Balanced``).
        """
        return None

    def for_measuring(self) -> Channel:
        """Return the channel whose table is used when privacy is measured: itself, or a coarser copy if that is large.
        """
        return self

    # --- the program --------------------------------------------------------------------------------------------

    @cached_property
    def drawing(self) -> Program:
        """The program that the device executes, as an object that draws; ``program()`` is the same as plain data."""
        return Program(self.entry.size, self.steps(), read_space(self.entry), write_space(self.outputs, self.domain))

    @property
    def entry(self) -> CodeSpace:
        """The grid or categories whose codes the program starts from (*entry codes*): ``inputs`` unless overridden."""
        return self.inputs

    @cached_property
    def entry_codes(self) -> Codes | None:
        """The code that the program starts from (entry code) for every true code, an array in rising order.

        None where true codes and entry codes are the same.
        """
        return None if self.entry is self.inputs else self.entry.encode(self.inputs.decode(np.arange(self.inputs.size)))

    def program(self) -> dict[str, Any]:
        """Return the drawing program as plain data, as docs/programs.md describes it."""
        return self.drawing.to_dict()

    @cached_property
    def noise_identity(self) -> str:
        """The hash, as text, of what a device's noise depends on beside its secret, the question and the answer.

        Channels with equal hashes give a device the same random draw.
        """
        return identity_of({"domain": domain_to_spec(self.domain), **noise_part(self.program())})

    @property
    def levels(self) -> Mapping[str | None, Channel]:
        """The channel of each level (how strongly a person chose to blur): only itself, under the name None."""
        return {None: self}

    @cached_property
    def exact_gamma(self) -> Fraction | None:
        """γ as an exact fraction, computed from the program's whole numbers; None: infinite."""
        return self.drawing.gamma

    @cached_property
    def gamma(self) -> float:
        """The largest factor between the chances of one report under two true values; ∞ where there is no bound.

        Rounded up to a float.
        """
        return rounded_up(self.exact_gamma)

    def law(self) -> Floats:
        """Return the table P[reported, true], one row a report code and one column a true code.

        >>> import sfumato as sf
        >>> sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75).law().tolist()
        [[0.75, 0.25], [0.25, 0.75]]
        """
        return self._law_at(self.entry_codes)

    def _law_at(self, codes: Codes | None, first: Codes | None = None) -> Floats:
        """Return P[report code, entry code], the table of chances as the program draws reports from its entry codes.

        ``codes``: the entry codes of the columns, one column each; None: all of them, in order.
        ``first``: sums the rows over runs of neighbouring report codes that begin at these codes; None: no sums.
        """
        return self.drawing.law(first, codes)

    # --- drawing reports ----------------------------------------------------------------------------------------

    def randomize(
        self, values: ArrayLike, rng: Rng = None, *, level: Any = None, key: Key = None, question: str = ""
    ) -> Any:
        """Draw a report for every value, in the shape of the values, which stay as they are.

        ``values``: one value, a list, an array or a column of pandas, Polars or PyArrow.
        ``rng``: None draws secure noise; a NumPy Generator or a seed is for simulation.
        ``level``: a single channel has none; leave it out.
        ``key``: a device's own secret (16 bytes or more): the same value then always gets the same report.
        ``question``: the name of what is asked, which ``key`` needs: two questions do not share their noise.
        ``Device`` does the same and also remembers what it has sent.

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
        """Draw the report of a single value with words of a source.

        The work is the same for every value and outcome, so that the time it takes reveals neither.
        """
        code = self.encode_one(value)
        report = self.drawing.draw(max(code, 0), source.row(code, self.drawing.words))
        return self.outputs.value_of(report) if code >= 0 else self.outputs.decode(np.array(MISSING)).item()

    def encode_one(self, value: Any) -> int:
        """Return the code that the program starts from for a single value; −1 where it is missing."""
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
        """Return the true code of every one of ``values``: the column of its law in the table; −1 where missing.

        It is the nearest code; where that one has another entry code than the value itself (as may happen beside the
        edge of a value class), it is the first true code with the value's entry code. An error names the row of a value
        outside the domain.
        """
        codes = self._encode(values, self.inputs)
        if self.entry_codes is None:
            return codes
        entered = self._encode(values, self.entry)
        alike = (codes < 0) | (self.entry_codes[codes] == entered)
        return np.where(alike, codes, np.searchsorted(self.entry_codes, entered))

    def encode_entry(self, values: ArrayLike, first_row: int = 0) -> Codes:
        """Return the code that the program starts from for every one of ``values``; −1 where missing.

        ``first_row``: the number of the first value in the whole table, from 0, by which errors name rows.
        """
        return self._encode(values, self.entry, first_row)

    def _encode(self, values: ArrayLike, space: CodeSpace, first_row: int = 0) -> Codes:
        """Return the codes of values on a grid or among categories (``space``); −1 where missing.

        Values outside the domain, or missing, are an error where the channel refuses them. ``first_row``: the number of
        the first value in the whole table, by which errors name rows.
        """
        if isinstance(self.domain, Interval):
            numbers = self.domain.clean(values, clamp=self.outside == "clamp", first_row=first_row)
            return self.check_missing(space.encode(numbers), first_row)
        return self.check_missing(space.encode(values, first_row), first_row)  # type: ignore[call-arg]

    def check_missing(self, codes: Codes, first_row: int = 0) -> Codes:
        """Return the codes unchanged; raise an error if one is missing (−1) and the channel refuses missing values.

        ``first_row``: the number of the first code's row in the whole table, from 0, by which the error names its row.
        """
        if self.missing == "refuse" and (codes == MISSING).any():
            row = f" in row {first_row + int(np.flatnonzero(codes == MISSING)[0]) + 1:,}" if codes.ndim else ""
            raise ValueError(f"a value is missing{row} and the channel refuses that; fill it or use missing='pass'")
        return codes

    def encode_reports(self, reports: ArrayLike) -> Codes:
        """Return the code of every one of ``reports``; −1 where missing.

        Noisy numbers from elsewhere get the nearest code, and those beyond the ends of the grid its end codes.
        """
        with showing_values():  # a report is what was sent, not an answer
            return self.outputs.encode(reports)

    def report_codes(self, codes: Codes, source: WordSource) -> Codes:
        """Draw a report code for each of the true ``codes`` with words of a source; −1, a missing one, stays −1."""
        flat = np.atleast_1d(codes).ravel()
        if self.entry_codes is not None:
            flat = np.where(flat < 0, MISSING, self.entry_codes[flat])
        words = source.rows(flat, self.drawing.words)
        reports = self.drawing.draw(np.maximum(flat, 0), list(words.T))
        return np.where(flat < 0, MISSING, reports).reshape(np.shape(codes))

    # --- tables -------------------------------------------------------------------------------------------------

    def matrix(self, true: ArrayLike | None = None, reported: ArrayLike | None = None) -> Floats:
        """Return the table P[report cell, true cell]; columns sum to 1.

        ``true``: the edges of intervals, one column each, with the true value uniform inside; None: a column for every
        true code. ``reported``: the edges of report cells, one row each, of which the two end cells are open; None: a
        row for every report code.

        >>> import sfumato as sf
        >>> sf.Uniform(sf.Interval(0, 4), halfwidth=1).matrix(true=[0, 2, 4], reported=[-1, 2, 5]).round(3).tolist()
        [[0.875, 0.125], [0.125, 0.875]]
        """
        starts = None if reported is None else self.first_codes(check_edges(reported, "reported"))
        if true is None:
            return self._law_at(self.entry_codes, starts)
        return np.asarray(self._law_at(None, starts) @ self._entry_weights(check_edges(true, "true")))

    def cells_of_codes(self, edges: ArrayLike) -> Codes:
        """Return for every report code the number of the cell that holds its value; the two end cells are open.

        Cell i reaches from ``edges[i]`` to below ``edges[i + 1]``.
        """
        bounds = check_edges(edges, "reported")
        values = self._numeric(self.outputs).values
        return np.asarray(np.clip(np.searchsorted(bounds, values, side="right") - 1, 0, bounds.size - 2))

    def first_codes(self, edges: Floats) -> Codes:
        """Return for every cell (interval between two ``edges``) the first report code at or above its lower edge."""
        first = np.searchsorted(self.cells_of_codes(edges), np.arange(edges.size - 1), side="left")
        return first.astype(np.int64)

    def interval_weights(self, edges: Floats) -> Floats:
        """Return W[true code, interval]: the chance of each code for a value uniform in an interval between ``edges``.
        """
        return self._shares(self._numeric(self.inputs), edges)

    def _entry_weights(self, edges: Floats) -> Floats:
        """Return W[entry code, interval]: the chance of each entry code for a value uniform in each interval."""
        if self.entry_codes is None:
            return self.interval_weights(edges)
        if not self._numeric(self.inputs).integer:
            return self._shares(self._numeric(self.entry), edges)
        entered = np.arange(self.entry.size)[:, None] == self.entry_codes
        return np.asarray(entered @ self.interval_weights(edges))

    def _shares(self, grid: Grid | Cells, edges: Floats) -> Floats:
        """Return W[code, interval]: the share of each interval between ``edges`` that belongs to each code of a grid.

        Columns sum to 1. Whole numbers count one each; other values count by the length that a code's step and the
        interval share.
        """
        if isinstance(grid, Grid) and grid.integer:
            interval = np.clip(np.searchsorted(edges, grid.values, side="right") - 1, 0, edges.size - 2)
            inside = (grid.values >= edges[0]) & (grid.values <= edges[-1]) & (grid.values == np.rint(grid.values))
            weights = (interval[:, None] == np.arange(edges.size - 1)) & inside[:, None]
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
        """Return the space, if it is one of numbers; categories are an error."""
        if isinstance(space, Categories):
            raise ValueError(f"{self.kind} works on categories; call matrix() without edges")
        return space  # type: ignore[return-value]

    # --- statements ---------------------------------------------------------------------------------------------

    @property
    def visible(self) -> tuple[str, ...]:
        """What the collector sees besides the report: ("missing",), whether there is an answer, or nothing."""
        return ("missing",) if self.missing == "pass" else ()

    def guarantee(self, prior: Any = None, *, language: str = "en") -> Guarantee:
        """Return the statement of what one report can reveal.

        ``prior``: what is believed about the value beforehand: probabilities over equal intervals of the domain or over
        the categories, a mapping from category to probability, or an Estimate; None: all true codes are as likely.
        ``language``: of its sentences, "en", "de" or "fr".

        >>> import sfumato as sf
        >>> sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3).guarantee().worst_posterior(0.5)
        0.75
        """
        return Guarantee.of_channel(self, prior, language)

    def to_spec(self) -> dict[str, Any]:
        """Return the channel as plain data, with ``missing`` and ``outside`` where they differ from their defaults."""
        rules = {"missing": (self.missing, "pass"), "outside": (self.outside, "refuse")}
        own = {name: rule for name, rule in rules.items() if name in self.parameter_names()}  # else a part states them
        return {**super().to_spec(), **{name: chosen for name, (chosen, usual) in own.items() if chosen != usual}}

    def __rshift__(self, other: Channel) -> Channel:
        """Return the `Chain` that blurs by this channel first and its report by the other one: ``first >> second``."""
        chain: Any = Mechanism.registry["chain"]
        return chain(self, other)  # type: ignore[no-any-return]


def channel_from_spec(domain: Domain, spec: Mapping[str, Any]) -> Channel:
    """Return the channel that ``to_spec`` wrote; a mechanism with levels, or of several numbers, is an error."""
    mechanism = mechanism_from_spec(domain, spec)
    if not isinstance(mechanism, Channel):
        raise ValueError(f"channel = {mechanism.kind!r} is not a single channel; choose one without levels")
    return mechanism


def check_edges(edges: ArrayLike, name: str) -> Floats:
    """Return edges as an array; raise an error unless they are two or more finite numbers in increasing order."""
    bounds = np.asarray(edges, dtype=float)
    if bounds.ndim != 1 or bounds.size < 2:
        raise ValueError(f"{name} needs at least two edges in one row; got shape {bounds.shape}")
    if not np.isfinite(bounds).all() or (np.diff(bounds) <= 0).any():
        raise ValueError(f"{name} edges are not increasing finite numbers; sort them and drop repeats")
    return bounds
