"""`Request`: the input of every reconstruction method, made from counts: evidence, wanted intervals, people."""

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
    """The evidence for one reconstruction, one problem for each class, and the wanted intervals.

    tallies: the counts of the privacy levels that people chose. classes: names of the classes, None where none were
    counted. layout: the wanted intervals and the true cells in them; None for categories. reports, missing: how many
    reports each class has, and how many missing ones, whatever they weigh. shares: the part of the people who chose
    each level. method: as given to `reconstruct`. weighted: whether reports have weights; the evidence then counts
    effective reports (`Counts.effective`).
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
        """The domain of the attribute: the values that answers may take."""
        return self.tallies[0].channel.domain  # type: ignore[return-value]

    @property
    def membership(self) -> Floats | None:
        """1 at [interval, true cell] where the cell lies in the wanted interval, else 0; None for categories."""
        return None if self.layout is None else self.layout.membership

    def estimate(
        self, row: int, predicted: Floats, probabilities: Floats, covariance: Floats, log_likelihood: float,
        freedom: float, messages: tuple[str, ...], cost: tuple[int, int] = (0, 0), cannot_tell: bool = False,
    ) -> Estimate:
        """Return the `Estimate` of one class from its shares and their covariance, with its diagnostics.

        row: of the class in the evidence. predicted: the shares of reports that the estimate leads to. probabilities,
        covariance: of the wanted intervals or categories. freedom: how many numbers the reports decided. messages:
        warnings, after those on the channel and the intervals. cost: steps of EM and table applications. cannot_tell:
        whether most of each error is room for detail that the noise hides.
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
        """Return the p-value of the channel: how often sound reports would fit as badly as those of a class, at most.

        1 for weighted reports, which are not tested. predicted: the shares of reports that the estimate leads to.
        """
        counts, table = self.evidence.counts[row], self.evidence.table
        if self.weighted or any(tally.histogram.dtype.kind == "f" for tally in self.tallies):
            return 1.0
        fit = fit_of(counts, predicted)
        if fit >= FALSE_ALARM and not counts[predicted <= 1e-300].any():
            return fit
        tables = [table.dense()] if self.layout is None else [table.dense(), self.points()[1]]
        return best_fit(counts, np.hstack(tables), predicted)

    def points(self) -> tuple[Floats, Floats]:
        """Return (values, P[report cell, value]) of the candidate values at which many people may be at once.

        Both are empty where the levels have different candidates.
        """
        if self.layout is None:
            raise ValueError("people at exactly one value are a matter of numbers, not of categories")
        observed = [observe_points(tally.channel, self.layout.cells) for tally in self.tallies]
        values = observed[0][0]
        if any(other.size != values.size or (other != values).any() for other, _ in observed[1:]):
            return np.zeros(0), np.zeros((self.evidence.table.shape[0], 0))
        return values, np.vstack([share * table for share, (_, table) in zip(self.shares, observed, strict=True)])


def request_of(counts: Counts, intervals: object, method: str = "em") -> Request:
    """Return the request that counts, wanted intervals (None for the default, and for categories) and a method make."""
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
    cells = [level.reports for level in observed]
    in_cells = [of_level.gather(tally.histogram) for of_level, tally in zip(cells, tallies, strict=True)]
    squares = [of_level.gather(tally.weight_sums.squares) for of_level, tally in zip(cells, tallies, strict=True)]
    people = np.array([counts_of_level.sum() for counts_of_level in in_cells])
    shares = people / people.sum()
    evidence = Evidence.of_counts(
        stack([level.table for level in observed], shares), np.hstack(in_cells),
        np.hstack(squares) if counts.weighted else None, () if layout is None else (layout.column_cells(),),
    )
    return Request(
        evidence, tallies, counts.classes, layout, *reports_in(counts), shares, method, weighted=counts.weighted
    )


def reports_in(counts: Counts) -> tuple[Floats, Floats]:
    """Return how many reports each class has, and how many missing ones, whatever they weigh."""
    levels = [tally.weight_sums for tally in counts.levels.values()]
    return np.sum([level.reports for level in levels], axis=0), np.sum([level.missing for level in levels], axis=0)


def check_counts(counts: Counts, tallies: tuple[Tally, ...]) -> None:
    """Raise ValueError where a class has no report that counts, or where the levels have different domains.

    tallies: those of the counts' levels that have reports.
    """
    if not tallies and counts.reports:
        raise ValueError("every weight is zero; give how many people each report stands for")
    if not tallies:
        reason = f"all {counts.missing:,.0f} reports are missing" if counts.missing else "there are no reports"
        raise ValueError(f"{reason}; reconstruction needs at least one report that is not missing")
    if any(tally.channel.domain != tallies[0].channel.domain for tally in tallies):
        raise ValueError("the levels have different domains; reconstruct each domain on its own")
    if counts.classes is not None:
        empty = np.sum([tally.histogram.sum(axis=1) for tally in tallies], axis=0) == 0
        if empty.any():
            name = counts.classes[int(np.flatnonzero(empty)[0])]
            raise ValueError(f"class {name!r} has no report that is not missing; leave it out of by=")
