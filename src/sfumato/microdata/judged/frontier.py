"""`find_frontier`: risk against utility of releases by several methods with several amounts of noise.

Every point is a release of the table: its risk is that of the worst intruder, as a report would state it, and its
utility is measured on held-out records, on the same splits for all points.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.microdata.draws import Draws
from sfumato.microdata.intruders import send_intruders
from sfumato.microdata.judged.utility import LEARNERS, MOST_RECORDS, Score, held_out
from sfumato.microdata.kept.preserved import PatternWarning
from sfumato.microdata.methods.donors import Donors
from sfumato.microdata.methods.gadp import Gadp
from sfumato.microdata.methods.method import Method
from sfumato.microdata.methods.swap import Swap
from sfumato.microdata.releasing import Release, read_records, release
from sfumato.pages import Html
from sfumato.prose import percent


@dataclass(frozen=True)
class Point:
    """The risk and the utility of one release, a point in the chart of several.

    ``risk``: of the worst intruder, whose name is ``worst``. ``accuracy``: the mean accuracy (R² for a numeric target)
    of learners trained on the release; ``by_classifier``: that of each.
    """

    method: str
    amount: float
    risk: float
    worst: str
    accuracy: float
    by_classifier: dict[str, float]


@dataclass(frozen=True)
class Frontier:
    """Risk and utility of several releases (``points``), and the accuracy without any noise (``original``)."""

    points: tuple[Point, ...]
    original: float

    def best(self, risk: float, methods: Sequence[str] | None = None) -> Point:
        """Return the most accurate release among those whose risk is at most ``risk``.

        ``methods``: names of the methods to choose from (None: all). Raises ValueError where there is none.
        """
        allowed = [p for p in self.points if p.risk <= risk and (methods is None or p.method in methods)]
        if not allowed:
            least = min(self.points, key=lambda point: point.risk)
            raise ValueError(f"no release has risk {risk:g} or less; the least is {least.risk:.3g} ({least.method})")
        return max(allowed, key=lambda point: point.accuracy)

    def to_dict(self) -> dict[str, Any]:
        """Return the points as plain data for JSON."""
        return {"original": self.original, "points": [asdict(point) for point in self.points]}

    def to_svg(self) -> Html:
        """Draw accuracy against risk as SVG, one line a method; the best releases lie at the top left."""
        from sfumato.pages.charts import scatter

        series: dict[str, list[tuple[float, float, str]]] = {}
        for p in self.points:
            series.setdefault(p.method, []).append((p.risk, p.accuracy, f"amount {p.amount:g}, {p.worst}"))
        axes = "risk of the worst intruder, at most", "accuracy on held-out records"
        return scatter(series, *axes, "accuracy against risk, one line a method")

    def __str__(self) -> str:
        rows = [
            f"{p.method:11} amount {p.amount:<6g} risk {percent(p.risk, up=True):>7}  accuracy {percent(p.accuracy)}"
            f"  ({p.worst})"
            for p in self.points
        ]
        return "\n".join([f"original: accuracy {percent(self.original)}", *rows])


def usual_methods(*chosen: Method) -> list[Method]:
    """Return a list of the methods of release to compare: `Donors`, `Gadp`, `Swap` and those ``chosen``.

    Each stands there several times, with less and with more noise.
    """
    kinds = {method.name: method for method in (Donors(), Gadp(), Swap(), *chosen)}
    return [variant for method in kinds.values() for variant in method.varied()]


def find_frontier(
    table: Any, target: str | None, *, methods: Iterable[Method] | None = None, splits: int = 3,
    classifiers: Sequence[str] = LEARNERS, rng: np.random.Generator | int | None = 0, **options: Any,
) -> Frontier:
    """Release a table by several methods and measure the risk and the utility of each release.

    ``table`` and ``target``: as in :func:`release`; the target is what learners predict. ``methods``: one a release
    (None: `Donors`, `Gadp` and `Swap`, each with less and with more noise). ``splits``: how often a third of the
    records is held out. ``classifiers``: names of the learners. ``rng``: a NumPy generator or a seed. ``options``: the
    other options of :func:`release` (preserve, rules, keep, roles, domains, treatment). Of tables beyond 20,000 records
    a sample is taken.
    """
    if target is None:
        raise ValueError("target=None leaves nothing to predict; name the column that learners are judged on")
    table, rng = _sampled(table, target, options), np.random.default_rng(rng)
    points: list[Point] = []
    for method in usual_methods() if methods is None else methods:
        with _without_warnings():
            result = release(table, target, method, rng=rng, **options)
        scores = held_out(result, Draws(0), splits, classifiers)
        scores = [score for score in scores if score.measure in ("accuracy", "R²")]
        points.append(_point(result, scores))
    if not points:
        raise ValueError("methods is empty; give at least one, such as sf.microdata.Donors()")
    return Frontier(tuple(points), float(np.mean([score.original for score in scores])))


def _point(release: Release, scores: Sequence[Score]) -> Point:
    """Return the risk of a release (of the worst intruder) and its utility: the mean of its learners' scores."""
    worst = max(send_intruders(release, Draws(0)), key=lambda finding: finding.risk)
    by_learner = {score.learner: score.released for score in scores}
    accuracy, amount = float(np.mean(list(by_learner.values()))), float(release.terms.amount.max())
    return Point(release.method.name, amount, worst.risk, worst.name, accuracy, by_learner)


def _sampled(table: Any, target: str | None, options: Mapping[str, Any]) -> Any:
    """Return a random sample of MOST_RECORDS records of a table, or the table where it has no more."""
    data = read_records(table, target, options.get("domains"), options.get("roles"))[0]
    rows = np.argsort(Draws(0).uniform(len(data.y)))[:MOST_RECORDS]
    return table if len(data.y) <= MOST_RECORDS else data.take(rows).to_table()


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence warnings of lost patterns inside the block: releases that are compared are judged by their scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternWarning)
        yield
