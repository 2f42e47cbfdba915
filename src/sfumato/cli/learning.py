"""What the learning commands share: which model a method names, and the records it learns from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel, Choice
from sfumato.cli.files import check_rows, read_table
from sfumato.cli.plans import check_columns, columns_of, text_columns
from sfumato.domain import Items, as_array
from sfumato.plan import Plan

TREES = ("joint", "byclass", "local", "global", "none")
METHODS = (*TREES, "joint-model", "naive-bayes")


def check_method(method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"--method {method} is unknown; use one of {', '.join(METHODS)}")


def check_learnable(plan: Plan, path: Path, *, with_class: bool) -> None:
    """A plan from which a model of records can be learned."""
    if with_class and plan.target is None:
        raise ValueError(f'{path}: no attribute is the class; give the one to predict role = "class"')
    if not plan.channels:
        raise ValueError(f"{path}: there is no attribute beside the class to learn from")
    for name, attribute in plan.attributes.items():
        if isinstance(attribute.domain, Items):
            raise ValueError(f"{path}: attribute {name!r} holds baskets, which records are not learned from; drop it")
        if attribute.role == "class" and isinstance(attribute.channel, Choice):
            raise ValueError(f"{path}: the class {name!r} has levels to choose from; give it one channel or none")


def read_records(plan: Plan, path: Path, *, reports: bool) -> Any:
    """A table with every attribute of the plan (and the levels that people chose, where these are reports)."""
    table = check_rows(read_table(path, text=text_columns(plan)), path)
    check_columns(table, feature_columns(plan) if reports else list(plan.channels), path)
    if plan.target is not None:
        check_columns(table, [plan.target], path)
    return table


def feature_columns(plan: Plan) -> list[str]:
    """The columns of reports that a model reads."""
    chosen: dict[str, Channel | Choice] = {n: c for n, c in plan.channels.items() if isinstance(c, Choice)}
    return [*plan.channels, *(name for name in columns_of(chosen) if name not in chosen)]


def features(plan: Plan, table: Any) -> Any:
    return table.select(feature_columns(plan))


def classes(plan: Plan, table: Any, path: Path | str) -> NDArray[Any]:
    """The class of each record, all of them known to the plan."""
    assert plan.target is not None
    labels = as_array(table.column(plan.target))
    domain = plan.attributes[plan.target].domain
    try:
        unknown = np.flatnonzero(domain.encode(labels) < 0)  # type: ignore[union-attr]
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path}: column {plan.target!r}: {error}") from None
    if unknown.size:
        raise ValueError(f"{path}: row {unknown[0] + 1} has no class in {plan.target!r}; drop rows without a class")
    return labels


def label_channel(plan: Plan) -> Channel | None:
    """The channel that class labels went through; None if they are clear."""
    channel = None if plan.target is None else plan.attributes[plan.target].channel
    assert not isinstance(channel, Choice)
    return channel


def estimator(method: str, plan: Plan, seed: int) -> Any:
    """An unfitted model for the plan's channels."""
    import sfumato as sf

    if method == "joint-model":
        return sf.JointModel(plan.channels, label_channel=label_channel(plan), random_state=seed)
    if method == "naive-bayes":
        return sf.NaiveBayes(plan.channels, density="reconstructed", label_channel=label_channel(plan))
    return sf.TreeClassifier(plan.channels, reconstruction=method, label_channel=label_channel(plan), random_state=seed)
