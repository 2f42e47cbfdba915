"""A channel is a known table of P(reported | true); everything else follows from it.

A subclass states its law, the spaces of codes on both sides, and its parameters. Drawing reports, coarser tables,
guarantees, composition and the written specification have defaults here and are overridden only for speed.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.alias import Words, integer_weights
from sfumato.channels.randomness import KeyedWords, WordSource, source_for
from sfumato.domain import MISSING, Categories, Cells, Codes, Floats, Grid, Interval, Items
from sfumato.guarantee import Guarantee
from sfumato.prose import suggest

if TYPE_CHECKING:
    from sfumato.channels.chain import Chain

Domain = Interval | Categories | Items
CodeSpace = Grid | Cells | Categories


class Channel(ABC):
    """The blur between a person's value and their report.

    Domain: ``domain``, what a person may answer.
    Law: ``law()``, P[reported, true] over the codes of ``outputs`` and ``inputs``; columns sum to 1.
    γ: the largest ratio within a row of the law.
    """

    kind: ClassVar[str] = ""
    registry: ClassVar[dict[str, type[Channel]]] = {}
    words_per_report: int = 1

    domain: Domain
    inputs: CodeSpace
    outputs: CodeSpace

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.kind:
            Channel.registry[cls.kind] = cls

    def __init__(self, domain: Domain, missing: str = "pass", outside: str = "refuse") -> None:
        if missing not in ("pass", "refuse"):
            raise ValueError(f"missing={missing!r} is unknown; use 'pass' or 'refuse'")
        if outside not in ("refuse", "clamp"):
            raise ValueError(f"outside={outside!r} is unknown; use 'refuse' or 'clamp'")
        self.domain = domain
        self.missing: Literal["pass", "refuse"] = missing  # type: ignore[assignment]
        self.outside: Literal["refuse", "clamp"] = outside  # type: ignore[assignment]

    # --- what a subclass states ---------------------------------------------------------------------------------

    @abstractmethod
    def law(self) -> Floats:
        """P[reported, true], one row per report code and one column per true code."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The constructor's own arguments, as given, without the domain."""

    @property
    def gamma(self) -> float:
        """The largest ratio of two probabilities of one report."""
        return largest_ratio(self.law())

    def interval_width(self, confidence: float) -> float | None:
        """Width of the interval that holds the true value with this confidence (AS00 §2); None: read it off the law."""
        return None

    def for_measuring(self) -> Channel:
        """The channel whose law information is measured on: this one, or its like on a coarser grid if too large."""
        return self

    def describe(self) -> str:
        """What happens to the value, as the end of a sentence that begins with 'Before it leaves your device'."""
        return f"it passes through a {self.kind} channel"

    # --- drawing reports ----------------------------------------------------------------------------------------

    def randomize(
        self,
        values: ArrayLike,
        rng: np.random.Generator | int | None = None,
        *,
        key: bytes | None = None,
        question: str = "",
    ) -> Any:
        """Reports for values, in the same shape; the input is not touched.

        ``rng=None`` draws secure noise; a NumPy Generator or a seed is for simulation. With ``key`` (a device's own
        secret) and ``question`` the same value always gets the same report.

        >>> import sfumato as sf
        >>> sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=1.0).randomize(["yes", "no"]).tolist()
        ['yes', 'no']
        """
        source = self._source(rng, key, question)
        reports = self.outputs.decode(self._report_values(values, source))
        return reports.item() if reports.ndim == 0 else reports

    def encode(self, values: ArrayLike) -> Codes:
        """True codes of values: −1 for missing, an error that names a value outside the domain."""
        if isinstance(self.domain, Interval):
            codes = self.inputs.encode(self.domain.clean(values, clamp=self.outside == "clamp"))
        else:
            codes = self.inputs.encode(values)
        return self.check_missing(codes)

    def check_missing(self, codes: Codes) -> Codes:
        """The same codes, refused if one is missing and the channel does not pass missing values."""
        if self.missing == "refuse" and (codes == MISSING).any():
            raise ValueError("a value is missing and the channel refuses that; fill it or use missing='pass'")
        return codes

    def encode_reports(self, reports: ArrayLike) -> Codes:
        """Report codes; raw noisy numbers go to the nearest code, beyond the ends to the end codes; missing is −1."""
        return self.outputs.encode(reports)

    def report_codes(self, codes: Codes, source: WordSource) -> Codes:
        """Report codes for true codes; missing stays missing."""
        flat = np.atleast_1d(codes).ravel()
        reports = self._draw(np.maximum(flat, 0), source.words(flat, self.words_per_report))
        return np.where(flat < 0, MISSING, reports).reshape(np.shape(codes))

    def _report_values(self, values: ArrayLike, source: WordSource) -> Codes:
        return self.report_codes(self.encode(values), source)

    def _draw(self, codes: Codes, words: Words) -> Codes:
        """Inverse of each column's cumulative law, in whole numbers of 2^−64."""
        law = self.law()
        reports = np.empty(codes.size, dtype=np.int64)
        for code in np.unique(codes).tolist():
            possible = np.flatnonzero(law[:, code])
            weights = np.array(integer_weights(law[possible, code]), dtype=object)
            last_words = (np.cumsum(weights) - 1).astype(np.uint64)
            chosen = codes == code
            reports[chosen] = possible[np.searchsorted(last_words, words[chosen, 0], side="left")]
        return reports

    def _source(self, rng: np.random.Generator | int | None, key: bytes | None, question: str) -> WordSource:
        if key is None:
            return source_for(rng)
        if rng is not None:
            raise ValueError("both rng and key are given; use key for a device, rng for a simulation")
        if not question:
            raise ValueError("key needs question=, the name of what is asked; two questions must not share their noise")
        return KeyedWords(key, f"{question}\0{self.fingerprint()}")

    # --- tables -------------------------------------------------------------------------------------------------

    def matrix(self, true: ArrayLike | None = None, reported: ArrayLike | None = None) -> Floats:
        """P[reported, true].

        ``true=None``: a column for every true code. ``true=edges``: a column for every interval, x uniform inside.
        ``reported=None``: a row for every report code. ``reported=edges``: a row for every cell, the end cells open.
        """
        starts = None if reported is None else self.first_codes(check_edges(reported, "reported"))
        rows = self._law_in_cells(starts)
        if true is None:
            return rows
        return np.asarray(rows @ self.interval_weights(check_edges(true, "true")))

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
        grid = self._numeric(self.inputs)
        if grid.integer:
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

    def _law_in_cells(self, first: Codes | None) -> Floats:
        """Rows of the law, summed over runs of report codes that begin at ``first``."""
        law = self.law()
        if first is None:
            return law
        cumulative = np.vstack([np.zeros(law.shape[1]), np.cumsum(law, axis=0)])
        ends = np.append(first[1:], law.shape[0])
        ends[-1] = law.shape[0]
        return np.asarray(cumulative[ends] - cumulative[first])

    def _numeric(self, space: CodeSpace) -> Grid:
        if isinstance(space, Categories):
            raise ValueError(f"{self.kind} works on categories; call matrix() without edges")
        return space  # type: ignore[return-value]

    # --- statements ---------------------------------------------------------------------------------------------

    def guarantee(self, prior: Any = None) -> Guarantee:
        """What one report can reveal; ``prior`` is a flat belief unless given (probabilities over equal intervals of
        the domain or over the categories, a mapping from category to probability, or an Estimate)."""
        return Guarantee.of_channel(self, prior)

    def to_spec(self) -> dict[str, Any]:
        """The channel as plain data: ``channel_from_spec(domain, spec)`` gives it back."""
        choices = {"missing": self.missing, "outside": self.outside}
        defaults = {"missing": "pass", "outside": "refuse"}
        kept = {name: choice for name, choice in choices.items() if choice != defaults[name]}
        return {"channel": self.kind, **self.parameters(), **kept}

    def fingerprint(self) -> str:
        """One line that identifies domain and law."""
        return json.dumps({"domain": domain_to_spec(self.domain), **self.to_spec()}, sort_keys=True, default=str)

    def __rshift__(self, other: Channel) -> Chain:
        from sfumato.channels.chain import Chain

        return Chain(self, other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Channel) and self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash(self.fingerprint())

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({self.domain!r}{shown})"


def largest_ratio(law: Floats) -> float:
    """γ of a table: max over reports of max/min within the row; rows that never occur do not count."""
    high, low = law.max(axis=1), law.min(axis=1)
    high, low = high[high > 0], low[high > 0]
    return float(np.inf) if (low <= 0).any() else float((high / low).max())


def check_edges(edges: ArrayLike, name: str) -> Floats:
    """Edges as an increasing array of at least two finite numbers."""
    bounds = np.asarray(edges, dtype=float)
    if bounds.ndim != 1 or bounds.size < 2:
        raise ValueError(f"{name} needs at least two edges in one row; got shape {bounds.shape}")
    if not np.isfinite(bounds).all() or (np.diff(bounds) <= 0).any():
        raise ValueError(f"{name} edges are not increasing finite numbers; sort them and drop repeats")
    return bounds


def domain_to_spec(domain: Domain) -> dict[str, Any]:
    """A domain as plain data."""
    if isinstance(domain, Interval):
        bounds: dict[str, Any] = {"low": domain.low, "high": domain.high}
        return {**bounds, "integer": True} if domain.integer else bounds
    if isinstance(domain, Categories):
        return {"categories": list(domain.labels)}
    numbered = isinstance(domain.labels, range)
    return {"items": domain.size if numbered else list(domain.labels)}


def domain_from_spec(spec: dict[str, Any]) -> Domain:
    """The domain that plain data describes: low/high (and integer), categories, or items."""
    kinds = [kind for kind in ("low", "categories", "items") if kind in spec or (kind == "low" and "high" in spec)]
    if len(kinds) != 1:
        raise ValueError("a domain is either low and high, or categories, or items; give exactly one of them")
    if kinds == ["categories"]:
        return Categories(spec["categories"])
    if kinds == ["items"]:
        return Items(spec["items"])
    for bound in ("low", "high"):
        if bound not in spec:
            raise ValueError(f"{bound} is missing; an interval needs both low and high")
    return Interval(spec["low"], spec["high"], bool(spec.get("integer", False)))


def channel_from_spec(domain: Domain, spec: dict[str, Any]) -> Channel:
    """The channel that ``to_spec`` wrote."""
    arguments = dict(spec)
    kind = arguments.pop("channel", None)
    cls = Channel.registry.get(str(kind))
    if cls is None:
        raise ValueError(f"channel = {kind!r} is unknown{suggest(str(kind), Channel.registry)}")
    return cls.from_parameters(domain, arguments) if hasattr(cls, "from_parameters") else cls(domain, **arguments)
