"""LKT08 §5.4 and §6: Income, Haberman and Liver; original, perturbed and reconstructed data; size and noise.

Gaussian noise with SNR = Var(data)/Var(noise). The nominal attributes of Income stay out of the paper's experiments;
here they go through randomized response at γ = 19 (a belief of 5 % grows to 50 % at most), "unknown" being an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.mining.chooser import Chooser
from sfumato.mining.direct import DirectClassifier
from sfumato.mining.joint import MixtureModel
from sfumato.papers.datasets import Dataset, load

GAMMA = 19.0
UNKNOWN = "unknown"
DATA = {"income": "adult", "haberman": "haberman", "liver": "bupa"}
Rows = list[dict[str, Any]]
Labels = npt.NDArray[Any]


@dataclass(frozen=True)
class Split:
    """True training and test records as pandas tables, and their classes."""

    X: Any
    y: Labels
    X_test: Any
    y_test: Labels

    def first(self, n: int) -> Split:
        return Split(self.X.iloc[:n], self.y[:n], self.X_test, self.y_test)


def table_of(data: Dataset) -> Any:
    """The attributes as a pandas table; missing labels become an answer of their own."""
    import pandas as pd

    columns = {name: data.columns[name] for name in data.attributes}
    return pd.DataFrame({k: v if v.dtype.kind in "if" else with_unknown(v) for k, v in columns.items()})


def with_unknown(column: Labels) -> Labels:
    return np.array([UNKNOWN if value is None else str(value) for value in column.tolist()], dtype=object)


def income(seed: int = 0, nominal: bool = False) -> Split:
    """Adult's own training and test records, the training records shuffled."""
    train, test = load("adult"), load("adult-test")
    if not nominal:
        train, test = train.numeric(), test.numeric()
    order = np.random.default_rng(seed).permutation(len(train))
    return Split(table_of(train).iloc[order].reset_index(drop=True), train.y[order], table_of(test), test.y)


def two_thirds(name: str, seed: int) -> Split:
    """A random 2/3 for training and the rest for the test."""
    data = load(name).numeric().complete()
    order = np.random.default_rng(seed).permutation(len(data))
    cut = 2 * len(data) // 3
    X, y = table_of(data).iloc[order].reset_index(drop=True), data.y[order]
    return Split(X.iloc[:cut], y[:cut], X.iloc[cut:], y[cut:])


def channels_for(split: Split, snr: float, gamma: float = GAMMA) -> dict[str, sf.Channel]:
    """Gaussian noise at the wanted SNR on numbers, randomized response on labels, over the known domains."""
    found: dict[str, sf.Channel] = {}
    for name in split.X.columns:
        both = np.concatenate([split.X[name].to_numpy(), split.X_test[name].to_numpy()])
        if both.dtype.kind in "if":
            domain = sf.Interval(both.min().item(), both.max().item(), integer=both.dtype.kind == "i")
            found[name] = sf.Gaussian(domain, scale=float(split.X[name].std(ddof=0)) / snr**0.5)
        else:
            found[name] = sf.RandomizedResponse(sf.Categories(sorted(set(both.tolist()))), gamma=gamma)
    return found


def randomized(X: Any, channels: dict[str, sf.Channel], rng: np.random.Generator) -> Any:
    import pandas as pd

    return pd.DataFrame({name: channel.randomize(X[name].to_numpy(), rng) for name, channel in channels.items()})


def learners() -> dict[str, Callable[[], Any]]:
    """The paper's three: a tree as careful as C4.5, naive Bayes, a perceptron of one hidden layer."""
    return {
        "tree": lambda: DecisionTreeClassifier(min_samples_leaf=0.003, random_state=0),
        "naive Bayes": GaussianNB,
        "MLP": lambda: make_pipeline(
            StandardScaler(), MLPClassifier((16,), early_stopping=True, max_iter=100, random_state=0)
        ),
    }


def reconstructed(reports: Any, y: Labels, channels: Any, seed: int) -> tuple[Any, Labels]:
    """As many records as reports, drawn from the mixture that was fitted to them."""
    model = MixtureModel(channels, components=120, pseudo_count=2.0, members=3, random_state=seed).fit(reports, y)
    records, classes = model.sample(len(y), seed)
    return records, classes


def table_3(split: Split, snr: float, seed: int) -> Rows:
    """Accuracy on the true test records of each learner on original, perturbed and reconstructed training data."""
    rng = np.random.default_rng(seed)
    channels = channels_for(split, snr)
    reports = randomized(split.X, channels, rng)
    sources = {
        "original": (split.X, split.y),
        "perturbed": (reports, split.y),
        "reconstructed": reconstructed(reports, split.y, channels, seed),
    }
    rows = []
    for name, make in learners().items():
        for source, (X, y) in sources.items():
            model = DirectClassifier(make()).fit(X, y)
            rows.append({"learner": name, "data": source, "accuracy": model.score(split.X_test, split.y_test)})
    return rows


def chosen(split: Split, snr: float, seed: int) -> dict[str, Any]:
    """What the chooser takes, from reports alone, and how it does on true records."""
    rng = np.random.default_rng(seed)
    channels = channels_for(split, snr)
    chooser = Chooser(channels, random_state=seed).fit(randomized(split.X, channels, rng), split.y)
    return {"chosen": chooser.chosen_, "accuracy": float(chooser.score(split.X_test, split.y_test))}


def direct_accuracies(split: Split, snr: float, seed: int) -> Rows:
    """Direct mining with each learner, tested on true and on perturbed records."""
    rng = np.random.default_rng(seed)
    channels = channels_for(split, snr)
    reports, test = randomized(split.X, channels, rng), randomized(split.X_test, channels, rng)
    rows = []
    for name, make in learners().items():
        model = DirectClassifier(make()).fit(reports, split.y)
        on_true, on_reports = model.score(split.X_test, split.y_test), model.score(test, split.y_test)
        rows.append({"learner": name, "true test records": on_true, "perturbed test records": on_reports})
    return rows
