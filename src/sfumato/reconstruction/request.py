"""What `reconstruct` was asked, with the evidence for it: counts become report cells, a table and wanted intervals."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from sfumato.counts import Counts, Tally
from sfumato.domain import Categories, Floats, Grid, Interval
from sfumato.evidence import Evidence, stack
from sfumato.evidence.laws import observe, observe_points
from sfumato.reconstruction.estimate import Diagnostics, Estimate
from sfumato.reconstruction.layout import Layout, layout_for
from sfumato.reconstruction.misfit import FALSE_ALARM, best_fit, fit_of, misfit_in_words


@dataclass(frozen=True, eq=False)
class Request:
    """The evidence for one reconstruction, a problem for each class, and what is wanted.

    tallies: of the levels that people chose. layout: wanted intervals and the true cells in them; None for categories.
    reports, missing: of each class. shares: what part of the people chose each level. Weighted reports are counted by
    what they are worth.
    """

    evidence: Evidence
    tallies: tuple[Tally, ...]
    classes: tuple[Hashable, ...] | None
    layout: Layout | None
    reports: Floats
    missing: Floats
    shares: Floats
    method: str
    weighted: bool = False

    @property
    def domain(self) -> Interval | Categories:
        """The values that answers may take."""
        return self.tallies[0].channel.domain  # type: ignore[return-value]

    @property
    def membership(self) -> Floats | None:
        """Which true cell lies in which wanted interval; None for categories."""
        return None if self.layout is None else self.layout.membership

    def estimate(
        self, row: int, predicted: Floats, probabilities: Floats, covariance: Floats, log_likelihood: float,
        freedom: float, messages: tuple[str, ...], cost: tuple[int, int] = (0, 0), cannot_tell: bool = False,
    ) -> Estimate:
        """Return the estimate of one class from its shares and their covariance.

        predicted: the shares of reports that they lead to. freedom: how many numbers the reports decided. cost: steps
        and table applications. cannot_tell: most of each error is room for detail that the noise hides.
        """
        layout, domain, counts = self.layout, self.domain, self.evidence.counts[row]
        fit = self.fit(row, predicted)
        notes = [misfit_in_words(fit), None if layout is None else layout.note]
        worth = float(counts.sum()) if self.weighted else None
        people = float(self.reports[row]), float(self.missing[row])
        facts = Diagnostics(
            self.method, *people, *cost, log_likelihood, freedom, (*filter(None, notes), *messages), fit, worth,
            cannot_tell,
        )
        categories = tuple(domain.labels) if isinstance(domain, Categories) else None
        edges, integer = (None, False) if layout is None else (layout.edges.copy(), layout.integer)
        return Estimate(edges, categories, np.asarray(probabilities), covariance, facts, integer)

    def fit(self, row: int, predicted: Floats) -> float:
        """Return how often sound reports would fit as badly as these, at most; 1 for weighted ones."""
        counts, table = self.evidence.counts[row], self.evidence.table
        if self.weighted or any(tally.histogram.dtype.kind == "f" for tally in self.tallies):
            return 1.0
        fit = fit_of(counts, predicted)
        if fit >= FALSE_ALARM and not counts[predicted <= 1e-300].any():
            return fit
        tables = [table.dense()] if self.layout is None else [table.dense(), self.points()[1]]
        return best_fit(counts, np.hstack(tables), predicted)

    def points(self) -> tuple[Floats, Floats]:
        """Return (values, P[report cell, value]) of the values at which many people may be at once."""
        if self.layout is None:
            raise ValueError("people at exactly one value are a matter of numbers, not of categories")
        observed = [observe_points(tally.channel, self.layout.cells) for tally in self.tallies]
        values = observed[0][0]
        if any(other.size != values.size or (other != values).any() for other, _ in observed[1:]):
            return np.zeros(0), np.zeros((self.evidence.table.shape[0], 0))
        return values, np.vstack([share * table for share, (_, table) in zip(self.shares, observed, strict=True)])


def request_of(counts: Counts, intervals: object, method: str = "em") -> Request:
    """Return the request for the wanted intervals (None for categories), with its evidence."""
    tallies = tuple(tally for tally in counts.levels.values() if tally.histogram.any())
    check_counts(counts, tallies)
    domain = tallies[0].channel.domain
    layout = None
    if isinstance(domain, Interval):
        steps = [t.channel.inputs.step for t in tallies if isinstance(t.channel.inputs, Grid)]
        layout = layout_for(domain, intervals, max(steps, default=0.0))
    elif intervals is not None:
        raise ValueError(f"intervals={intervals!r} has no meaning for {domain}; leave it out")
    observed = [observe(tally.channel, None if layout is None else layout.cells) for tally in tallies]
    gathered = [each.reports.gather(tally.histogram) for each, tally in zip(observed, tallies, strict=True)]
    squares = [each.reports.gather(tally.told.squares) for each, tally in zip(observed, tallies, strict=True)]
    people = np.array([part.sum() for part in gathered])
    shares = people / people.sum()
    evidence = Evidence.of_counts(
        stack([each.table for each in observed], shares), np.hstack(gathered),
        np.hstack(squares) if counts.weighted else None, () if layout is None else (layout.column_cells(),),
    )
    return Request(
        evidence, tallies, counts.classes, layout, *reports_in(counts), shares, method, weighted=counts.weighted
    )


def reports_in(counts: Counts) -> tuple[Floats, Floats]:
    """Return how many reports each class has, and how many missing ones."""
    levels = [tally.told for tally in counts.levels.values()]
    return np.sum([each.reports for each in levels], axis=0), np.sum([each.missing for each in levels], axis=0)


def check_counts(counts: Counts, tallies: tuple[Tally, ...]) -> None:
    """Refuse counts that say nothing, or that are about different things."""
    if not tallies and counts.reports:
        raise ValueError("every weight is zero; give how many people each report stands for")
    if not tallies:
        lost = f"all {counts.missing:,.0f} reports are missing" if counts.missing else "there are no reports"
        raise ValueError(f"{lost}; reconstruction needs at least one report that is not missing")
    if any(tally.channel.domain != tallies[0].channel.domain for tally in tallies):
        raise ValueError("the levels have different domains; reconstruct each domain on its own")
    if counts.classes is not None:
        empty = np.sum([tally.histogram.sum(axis=1) for tally in tallies], axis=0) == 0
        if empty.any():
            name = counts.classes[int(np.flatnonzero(empty)[0])]
            raise ValueError(f"class {name!r} has no report that is not missing; leave it out of by=")
