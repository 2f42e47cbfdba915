"""What a simulated survey teaches: a tree from the reports beside the tree that the true values would have given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.cli.learning import classes, estimator, features
from sfumato.cli.survey import Survey

SHOWN_RULES = 8


@dataclass(frozen=True, eq=False)
class Lesson:
    """Accuracies on fresh people whose true values are known, and the tree learned from the reports."""

    target: str
    tested: int
    model: Any
    from_reports: float
    uncorrected: float
    from_truth: float
    largest_class: float

    @property
    def rules(self) -> list[str]:
        return list(self.model.rules()[:SHOWN_RULES])

    def measured(self) -> dict[str, Any]:
        """What goes home with the model."""
        spread = float(np.sqrt(self.from_reports * (1 - self.from_reports) / self.tested))
        return {"method": "joint", "test": {"records": self.tested, "accuracy": self.from_reports, "stderr": spread}}

    def rows(self) -> list[tuple[str, float]]:
        return [
            ("the largest class for everybody", self.largest_class),
            ("a tree from the reports, taken at face value", self.uncorrected),
            ("a tree from the reports", self.from_reports),
            ("a tree from the true values, which nobody has", self.from_truth),
        ]


def learn(survey: Survey, fresh: Any, seed: int) -> Lesson:
    """Train on the survey's reports (and, to compare, on its people), test on people who were not asked."""
    plan = survey.plan
    assert plan.target is not None
    truth = classes(plan, fresh, "fresh people")
    sources = (("joint", survey.reports), ("none", survey.reports), ("none", survey.people))
    trees = [_tree(method, survey, table, seed) for method, table in sources]
    ours, uncorrected, clean = (float(np.mean(tree.predict(features(plan, fresh)) == truth)) for tree in trees)
    largest = float(np.unique(truth, return_counts=True)[1].max() / len(truth))
    return Lesson(plan.target, len(truth), trees[0], ours, uncorrected, clean, largest)


def _tree(method: str, survey: Survey, table: Any, seed: int) -> Any:
    labels = classes(survey.plan, table, "the survey")
    return estimator(method, survey.plan, seed).fit(features(survey.plan, table), labels)
