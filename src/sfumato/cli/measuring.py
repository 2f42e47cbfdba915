"""How well does a model classify, when the truth is not at hand? What can be measured, and what it means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.cli.learning import features, label_channel
from sfumato.plan import Plan

LEAST_TO_RECONSTRUCT = 1_000
SYNTHETIC = 20_000
MEMBERS = 4


def on_reports(model: Any, plan: Plan, reports: Any, labels: NDArray[Any], seed: int) -> dict[str, Any]:
    """Measures on held-out reports: what they say about the model, though nobody's true values are seen.

    accuracy_on_reports: the share of people whose reported class the model guesses from their blurred values.
    reconstructed_accuracy: the share it guesses of people drawn from a joint model of the held-out reports alone.
    """
    told = np.asarray(model.predict(features(plan, reports)))
    return {
        "records": len(labels),
        "largest_class": float(np.unique(labels, return_counts=True)[1].max() / len(labels)),
        "accuracy_on_reports": float(np.mean(told == labels)),
        "reconstructed_accuracy": _reconstructed(model, plan, reports, labels, seed),
    }


def _reconstructed(model: Any, plan: Plan, reports: Any, labels: NDArray[Any], seed: int) -> float | None:
    if len(labels) < LEAST_TO_RECONSTRUCT or len(np.unique(labels)) < 2:
        return None
    from sfumato.mining.joint import JointModel

    joint = JointModel(plan.channels, label_channel=label_channel(plan), members=MEMBERS, random_state=seed)
    people, true = joint.fit(features(plan, reports), labels).sample(SYNTHETIC, random_state=seed)
    return float(np.mean(np.asarray(model.predict(people)) == true))


def on_people(model: Any, people: Any, labels: NDArray[Any]) -> dict[str, Any]:
    """Accuracy on people whose true values are known, with its standard error √(a(1−a)/n)."""
    accuracy = float(np.mean(np.asarray(model.predict(people)) == labels))
    return {
        "records": len(labels),
        "accuracy": accuracy,
        "stderr": float(np.sqrt(accuracy * (1 - accuracy) / len(labels))),
    }


def in_words(measured: dict[str, Any]) -> list[str]:
    """The measures as sentences that do not promise more than was measured."""
    lines = []
    if test := measured.get("test"):
        share = f"{100 * test['accuracy']:.1f} % ± {100 * test['stderr']:.1f}"
        lines.append(f"Accuracy on {test['records']:,} people whose true values are known: {share}.")
    if held := measured.get("held_out"):
        lines += _held_out_words(held)
    if not lines:
        lines.append("Nothing was measured; hold reports back with --holdout, or give people you know with --test.")
    return lines


def _held_out_words(held: dict[str, Any]) -> list[str]:
    base = f"the largest class alone is {100 * held['largest_class']:.1f} %"
    share = f"{100 * held['accuracy_on_reports']:.1f} % of the reported classes ({base})"
    lines = [
        "True accuracy cannot be seen in reports: the true values stay with the people. What can be measured on "
        f"{held['records']:,} reports held out of training:",
        f"Applied to the blurred values it guesses {share}; {_what_it_shows(held)}.",
    ]
    if held["reconstructed_accuracy"] is None:
        return [*lines, f"Fewer than {LEAST_TO_RECONSTRUCT:,} were held out, too few to reconstruct people from."]
    return [
        *lines,
        f"On people reconstructed from those reports alone it guesses {100 * held['reconstructed_accuracy']:.1f} %; "
        "reconstruction softens sharp borders between classes, so this tends to be several points too low.",
    ]


def _what_it_shows(held: dict[str, Any]) -> str:
    """Two standard errors above the largest class: something was learned."""
    chance = 2 * np.sqrt(held["largest_class"] * (1 - held["largest_class"]) / held["records"])
    if held["accuracy_on_reports"] > held["largest_class"] + chance:
        return "so it has learned something, and true values, which are not blurred, should serve it better"
    return "that alone does not show that it has learned anything"
