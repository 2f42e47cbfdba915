"""Risk against utility: for a wanted risk, the method and the amount of noise that keep most.

Every point is a release of the table: its risk is the one that a report would state, that of the worst intruder of the
whole suite, and its utility is judged on held-out records, on the same splits for all points.
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
    """One release: its stated risk, whose it is, and the mean accuracy (of a number: R²) of learners trained on it."""

    method: str
    amount: float
    risk: float
    worst: str
    accuracy: float
    by_classifier: dict[str, float]


@dataclass(frozen=True)
class Frontier:
    """Releases by method and amount, and the accuracy without any noise."""

    points: tuple[Point, ...]
    original: float

    def best(self, risk: float, methods: Sequence[str] | None = None) -> Point:
        """The most accurate release among those whose stated risk is at most ``risk``."""
        allowed = [p for p in self.points if p.risk <= risk and (methods is None or p.method in methods)]
        if not allowed:
            least = min(self.points, key=lambda point: point.risk)
            raise ValueError(f"no release has risk {risk:g} or less; the least is {least.risk:.3g} ({least.method})")
        return max(allowed, key=lambda point: point.accuracy)

    def to_dict(self) -> dict[str, Any]:
        return {"original": self.original, "points": [asdict(point) for point in self.points]}

    def to_svg(self) -> Html:
        """Draw accuracy against risk, one line a method; the best releases lie at the top left."""
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
    """Return the methods that an owner may choose, and those chosen, each with less and with more noise."""
    kinds = {one.name: one for one in (Donors(), Gadp(), Swap(), *chosen)}
    return [variant for one in kinds.values() for variant in one.varied()]


def find_frontier(
    table: Any, target: str | None, *, methods: Iterable[Method] | None = None, splits: int = 3,
    classifiers: Sequence[str] = LEARNERS, rng: np.random.Generator | int | None = 0, **options: Any,
) -> Frontier:
    """Release the table by every method, state the risk of each release, and judge it on held-out records.

    ``methods``: one a release (None: `Donors`, `Gadp` and `Swap`, each with less and with more noise). ``options`` are
    the others of :func:`release`: preserve, rules, keep, roles, domains, treatment. Tables beyond 20,000 records are
    sampled.
    """
    if target is None:
        raise ValueError("target=None leaves nothing to predict; name the column that learners are judged on")
    table, rng = _sampled(table, target, options), np.random.default_rng(rng)
    points: list[Point] = []
    for method in usual_methods() if methods is None else methods:
        with _without_warnings():
            done = release(table, target, method, rng=rng, **options)
        found = [one for one in held_out(done, Draws(0), splits, classifiers) if one.measure in ("accuracy", "R²")]
        points.append(_point(done, found))
    if not points:
        raise ValueError("methods is empty; give at least one, such as sf.microdata.Donors()")
    return Frontier(tuple(points), float(np.mean([one.original for one in found])))


def _point(done: Release, found: Sequence[Score]) -> Point:
    worst = max(send_intruders(done, Draws(0)), key=lambda finding: finding.risk)
    each = {one.learner: one.released for one in found}
    accuracy, amount = float(np.mean(list(each.values()))), float(done.terms.amount.max())
    return Point(done.method.name, amount, worst.risk, worst.name, accuracy, each)


def _sampled(table: Any, target: str | None, options: Mapping[str, Any]) -> Any:
    data = read_records(table, target, options.get("domains"), options.get("roles"))[0]
    rows = np.argsort(Draws(0).uniform(len(data.y)))[:MOST_RECORDS]
    return table if len(data.y) <= MOST_RECORDS else data.take(rows).to_table()


@contextmanager
def _without_warnings() -> Iterator[None]:
    """What a release does not preserve is no news here: how much is learnt from it is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternWarning)
        yield
