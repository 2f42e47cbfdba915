"""Which learners serve best on true values: told from reports alone.

Every recipe is fitted on a part of the reports and judged on people who were held out: how likely do its answers on
true values, as far as the reports tell them, make the classes that these people reported (`judging`)? Nobody's true
value is needed, and no recipe is judged by the noise that it was fitted to. Held-out reports seldom tell who is best:
everyone who is not far behind answers, P(y | x) = Σ_m w_m · P_m(y | x), and counts half as much for every standard
error by which it is behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.counts import Fold, Reports
from sfumato.domain import Codes, Floats
from sfumato.domain.checked import given_names, given_numbers, given_one_of, given_rows, given_table
from sfumato.learners import LEARNERS
from sfumato.learners.choose.accuracy import Answers, accuracy
from sfumato.learners.choose.judging import (
    ABOUT,
    DRAWS,
    Judge,
    calibrated,
    first_as_good,
    told_about_classes,
    trust,
    weights_of,
)
from sfumato.learners.choose.on_grid import judged_on_grid
from sfumato.learners.choose.recipes import densities, direct, readable, reconstructing
from sfumato.learners.classes import at_face_value, class_codes_in, class_people
from sfumato.learners.device import DeviceForm
from sfumato.learners.estimator import Channels, Column, Learner, learner_named
from sfumato.learners.face_value import FaceValueClassifier
from sfumato.learners.tree import TreeClassifier
from sfumato.learners.tree.model import Feature, Tree
from sfumato.prose import Voice, listed, percent

FOLDS, TRIES = 3, 32
MOST_READ = 100_000
FEW = 4_000  # records up to which every fold is held out in turn
COSTLY = 1e6  # records · columns · classes of all folds together, unless one alone is more
MOST_JUDGED, MOST_NUMBERS = 3_500, 5e6
ALONE = 1.0  # standard errors behind the best within which the first is taken, where one is to answer alone
MOST_LEAVES = 30  # of a tree that is preferred to a formula that does about as well
GRAIN = 2.0**30
TINY = 1e-300


class Chooser(Learner):
    """The recipes that will serve best on true values, chosen and fitted on reports; they answer together.

    channels, label_channel: as in JointModel.
    recipes: classifiers by name, fitted on reports, those first that are to be taken unless others are clearly better;
        None takes every learner that takes the noise off (gaussian mixtures, naive Bayes, mixtures of products, tree,
        sum of terms) and three that take reports at face value. Other classifiers of scikit-learn are taken as
        `FaceValueClassifier`.
    combine: whether all that are not far behind the best answer together; else the first that is about as good as the
        best answers alone.
    readable: only models that people can read, one alone: a tree, or a sum of terms.

    Recipes are judged on a fixed sample of at most 100,000 records, and what was chosen is fitted on all.

    Fitted: ``scores_`` (log-likelihood of a held-out person's class, by recipe), ``weights_`` (by recipe that answers),
    ``chosen_`` (the one that counts most), ``members_``, ``estimator_`` (where one answers alone, that one),
    ``accuracy_`` (an estimate of the accuracy on true values, and its standard error).
    """

    form = "chooser"

    def __init__(
        self, channels: Channels = None, *, recipes: Mapping[str, Any] | None = None, combine: bool = True,
        readable: bool = False, label_channel: Channel | None = None, random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.recipes = recipes
        self.combine = combine
        self.readable = readable
        self.label_channel = label_channel
        self.random_state = random_state

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        recipes, sample = self._recipes(reports), reports.sampled(MOST_READ)
        parts = fitted_apart(recipes, sample, every_fold=self.readable)
        judged = judged_by(parts[: folds_asked(sample)], sample, rng)
        on_grid = judged_on_grid(parts, sample, judged.shares) if self.readable and len(recipes) > 1 else None
        scores = judged.scores if on_grid is None else -on_grid.loss
        self.scores_ = dict(zip(recipes, scores.tolist(), strict=True))
        first = on_grid.first_as_good(ABOUT if first_is_small(parts) else ABOUT / 2) if on_grid else None
        weights = self._weights(judged) if first is None else one_of(len(recipes), first)
        self.accuracy_ = judged.accuracy(weights, sample, rng)
        chosen = {name: weight for name, weight in zip(recipes, weights.tolist(), strict=True) if weight}
        self._keep(chosen, [fitted(recipes[name], reports, self.classes_) for name in chosen])

    def _weights(self, judged: Judged) -> Floats:
        """How much each recipe counts."""
        if self.combine and not self.readable:
            return trust(judged.logs, judged.weight)
        return one_of(len(judged.logs), first_as_good(judged.logs, judged.weight, ALONE))

    def _keep(self, weights: dict[str, float], members: list[Learner]) -> None:
        self.weights_, self.members_ = weights, members
        self.chosen_ = max(weights, key=lambda name: weights[name])

    def _recipes(self, reports: Reports) -> dict[str, Learner]:
        channels, label_channel = self.channels or reports.channels, self.label_channel or reports.label_channel
        if self.recipes is None:
            if self.readable:
                return readable(channels, label_channel)
            readable_as_values = label_channel is None and all(map(at_face_value, reports.channels.values()))
            readable_as_values &= len(reports.classes or ()) != 1  # a logistic regression needs two
            return {**reconstructing(channels, label_channel), **(direct(channels) if readable_as_values else {})}
        if not self.recipes:
            raise ValueError("recipes is empty; name at least one classifier, or leave it out for the usual ones")
        return {
            name: each if isinstance(each, Learner) else FaceValueClassifier(each, self.channels)
            for name, each in self.recipes.items()
        }

    # --- answers ------------------------------------------------------------------------------------------------

    @property
    def estimator_(self) -> Learner:
        """The one that answers alone."""
        check_is_fitted(self, "members_")
        if len(self.members_) > 1:
            raise AttributeError(f"{len(self.members_)} learners answer together; they are in members_")
        return self.members_[0]

    def _scores(self, columns: list[Column]) -> Floats:
        """Σ_m w_m · P_m(y | x), each P rounded to 2⁻³⁰, so that languages agree on it; of one that answers alone, its
        own scores."""
        if len(self.members_) == 1:
            return self.members_[0]._scores(columns)
        pairs = zip(self.weights_.values(), self.members_, strict=True)
        return np.asarray(sum(weight * rounded(member._probabilities(columns)) for weight, member in pairs))

    def _probabilities(self, columns: list[Column]) -> Floats:
        if len(self.members_) == 1:
            return self.members_[0]._probabilities(columns)
        scores = self._scores(columns)
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def device_form(self, say: Voice) -> DeviceForm:
        if len(self.members_) == 1:
            return self.members_[0].device_form(say)
        parts = (member.device_form(say) for member in self.members_)
        return DeviceForm.pool(self.device_classes(), self.weights_.values(), parts)

    def deciding_tree(self) -> tuple[Tree, list[Feature]] | None:
        return self.members_[0].deciding_tree() if len(self.members_) == 1 else None

    def device_classes(self) -> list[Any] | None:
        return self.members_[0].device_classes() if len(self.members_) == 1 else super().device_classes()

    # --- to read ------------------------------------------------------------------------------------------------

    @property
    def reconstructs_(self) -> bool:
        """Whether what answers takes the noise off; of several, what counts most together."""
        check_is_fitted(self, "members_")
        pairs = zip(self.weights_.values(), self.members_, strict=True)
        direct = sum(weight for weight, each in pairs if isinstance(each, FaceValueClassifier))
        return bool(2 * direct <= sum(self.weights_.values()))

    def verdict(self, accuracy: bool = True) -> str:
        """The choice in words: what answers and why, and (unless that is measured otherwise) how well it should do."""
        check_is_fitted(self, "members_")
        way = "Reconstruct" if self.reconstructs_ else "Mine the reports directly"
        ranked = sorted(self.scores_.items(), key=lambda pair: -pair[1])
        scores = ", ".join(f"{name} {score:.4f}" for name, score in ranked)
        if len(self.members_) == 1:
            what = self.chosen_
            why = "nothing else makes the classes of held-out people clearly more likely"
        else:
            parts = sorted(self.weights_.items(), key=lambda pair: -pair[1])
            what = f"{listed([f'{name} ({percent(weight)})' for name, weight in parts])} together"
            why = "held-out people do not tell which of them is best; whoever is further behind counts less"
        mean, error = self.accuracy_
        well = f"On true values it should be right for {percent(mean)} ± {100 * error:.1f} of people."
        said = [f"{way}: {what}; {why}.", *([well] if accuracy else [])]
        return " ".join([*said, f"Log-likelihood of held-out classes, a record: {scores}."])

    # --- plain data ---------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        return {
            "scores": self.scores_, "accuracy": list(self.accuracy_), "chosen": list(self.weights_),
            "weights": list(self.weights_.values()),
            "members": [{"kind": type(each).__name__, "model": each.to_dict()} for each in self.members_],
        }

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        model = cls()
        scores = given_table(data, "scores")
        numbers = given_numbers({"scores": list(scores.values())}, "scores", (len(scores),))
        model.scores_ = dict(zip(scores, numbers.tolist(), strict=True))
        mean, error = given_numbers(data, "accuracy", (2,), 0.0).tolist()
        model.accuracy_ = mean, error
        names = given_names(data, "chosen")
        weights = given_numbers(data, "weights", (len(names),), TINY)
        members = [member_of(each, data) for each in given_rows(data, "members", len(names))]
        if not members:
            raise ValueError("the chooser has chosen nothing")
        model._keep(dict(zip(names, weights.tolist(), strict=True)), members)
        return model


def member_of(document: Any, data: Mapping[str, Any]) -> Learner:
    """A learner of a chooser's document, which speaks of the same columns and classes."""
    learned = given_table(document, "model")
    for key in ("attributes", "classes"):
        if list(given_rows(learned, key)) != list(data[key] or ()):
            raise ValueError(f"{key} of the chosen model differ from those of the chooser")
    kinds = [kind for kind in LEARNERS if kind != "Chooser"]
    found: Learner = learner_named(given_one_of(document, "kind", kinds)).from_dict(learned)
    return found


def rounded(p: Floats) -> Floats:
    return np.asarray(np.rint(p * GRAIN) / GRAIN)


def one_of(size: int, chosen: int) -> Floats:
    """All the weight on one."""
    return np.asarray(np.arange(size) == chosen, np.float64)


def fitted(recipe: Learner, reports: Reports, classes: npt.NDArray[Any]) -> Learner:
    """A copy of the recipe that learned from reports; it speaks of the classes by their names."""
    model: Learner = clone(recipe).fit(reports)
    model.classes_ = classes
    return model


def together(weights: Floats, models: Sequence[Learner]) -> Answers:
    """P(y | x) = Σ_m w_m · P_m(y | x)."""
    pairs = [(weight, model) for weight, model in zip(weights.tolist(), models, strict=True) if weight]
    return lambda columns: sum(weight * model._probabilities(columns) for weight, model in pairs)


@dataclass(frozen=True)
class HeldOut:
    """People who were held out, the models that never saw them, and densities of which the same is true."""

    fold: Fold
    held: Reports
    models: Sequence[Learner]
    densities: Sequence[Any]


@dataclass(frozen=True)
class Judged:
    """How likely each model makes what all held-out people reported."""

    folds: Sequence[HeldOut]
    logs: list[Floats]
    weight: Floats
    shares: Floats
    behind: int
    """The first density that foretells the classes about best."""

    @property
    def scores(self) -> Floats:
        """Mean log-likelihoods."""
        return np.array([np.average(each, weights=self.weight) for each in self.logs])

    def accuracy(self, weights: Floats, reports: Reports, rng: np.random.Generator) -> tuple[float, float]:
        """An estimate of the accuracy of models that count so much, and its error."""
        return accuracy([
            (together(weights, each.models), each.held,
             both_densities(each.densities[self.behind], held_out(reports, each.fold)))
            for each in self.folds
        ], rng)


def held_out(reports: Reports, fold: Fold) -> Reports:
    return reports.of_records(np.flatnonzero(reports.chosen(fold)))


def first_is_small(parts: Sequence[tuple[Fold, Sequence[Learner]]]) -> bool:
    """Whether the first recipe, a tree, is one that people read; a large one has to be closer to the likeliest."""
    leaves = [models[0].get_n_leaves() for _, models in parts if isinstance(models[0], TreeClassifier)]
    return not leaves or bool(np.median(leaves) <= MOST_LEAVES)


def folds_asked(reports: Reports) -> int:
    """How many folds are held out in turn: all of few people, but not where a fit costs much."""
    size = len(reports) * len(reports.names) * len(reports.classes or ())
    return int(np.clip(COSTLY / size, 1, FOLDS)) if len(reports) <= FEW else 1


def fitted_apart(
    recipes: Mapping[str, Learner], reports: Reports, *, every_fold: bool
) -> list[tuple[Fold, list[Learner]]]:
    """Every recipe as it learns from all people but a fold."""
    folds = folds_of(reports, class_codes_in(reports))[: FOLDS if every_fold else folds_asked(reports)]
    found = []
    for fold in folds:
        rest = held_out(reports, ~fold)
        found.append((fold, [clone(recipe).fit(rest) for recipe in recipes.values()]))
    return found


def judged_by(
    parts: Sequence[tuple[Fold, Sequence[Learner]]], reports: Reports, rng: np.random.Generator
) -> Judged:
    """Models judged on the folds that they did not learn from.

    Every density stands behind the reports, and counts for what it tells about their classes by itself.
    """
    most = max(most_judged(len(reports.classes or ())) // len(parts), 1)
    folds = []
    for fold, models in parts:
        held = rng.permutation(np.flatnonzero(reports.chosen(fold)))[:most]
        known = [each for each in models if hasattr(each, "draws_given")]
        behind = known or fitted_densities(held_out(reports, ~fold))
        folds.append(HeldOut(fold, reports.of_records(held), models, behind))
    weight, shares = np.concatenate([weights_of(each.held) for each in folds]), shares_of(reports)
    foretold = told_by_densities(folds)
    trusted = trust(foretold, weight)
    logs = [np.zeros_like(weight) for _ in parts[0][1]]
    for d in np.flatnonzero(trusted).tolist():
        judges = [Judge(each.held, each.densities[d], shares, rng) for each in folds]
        label = np.concatenate([judge.label for judge in judges])
        for m, total in enumerate(logs):
            pairs = zip(judges, folds, strict=True)
            answers = np.concatenate([judge.answers(each.models[m]) for judge, each in pairs], axis=1)
            total += trusted[d] * calibrated(answers, label, weight, shares)
    return Judged(folds, logs, weight, shares, first_as_good(foretold, weight))


def told_by_densities(folds: Sequence[HeldOut]) -> list[Floats]:
    """What each density says about the classes of all held-out people."""
    each = [[told_about_classes(density, one.held) for density in one.densities] for one in folds]
    return [np.concatenate(parts) for parts in zip(*each, strict=True)]


def estimated_accuracy(model: Learner, rest: Reports, held: Reports, rng: np.random.Generator) -> tuple[float, float]:
    """Which share of true classes a model tells from true values, as far as held-out reports tell, and its standard
    error; the model learned from `rest`, of which a fixed sample is read."""
    rows = rng.permutation(len(held))[: most_judged(len(held.classes or ()))]
    asked, known = held.of_records(rows), fitted_densities(rest.sampled(MOST_READ))
    best = known[first_as_good([told_about_classes(each, asked) for each in known], weights_of(asked))]
    return accuracy([(model._probabilities, asked, both_densities(best, held.sampled(MOST_READ)))], rng)


def both_densities(behind: Any, held: Reports) -> list[Any]:
    """A density, and one like it that learned from the held-out people alone."""
    codes = class_codes_in(held)
    if np.unique(codes).size < len(held.classes or ()):
        return [behind]
    return [behind, clone(behind).fit(held)]


def most_judged(classes: int) -> int:
    """How many people are judged by, so that answers fit in memory."""
    return int(min(MOST_JUDGED, MOST_NUMBERS / (DRAWS * max(classes, 1))))


def shares_of(reports: Reports) -> Floats:
    """The true classes' shares, none of them zero."""
    people = class_people(reports)
    return np.asarray(people / people.sum())


def fitted_densities(reports: Reports) -> list[Learner]:
    """What tells the true values behind reports if no recipe does."""
    return [each.fit(reports) for each in densities(reports.channels, reports.label_channel).values()]


def folds_of(reports: Reports, codes: Codes) -> list[Fold]:
    """Folds that each leave records of every class to learn from: the first of a few ways to cut that do."""
    known = np.unique(codes).size
    for salt in range(4, 4 + TRIES):
        folds = [Fold(number, FOLDS, salt=salt) for number in range(FOLDS)]
        parts = [reports.chosen(fold) for fold in folds]
        if all(held.any() and np.unique(codes[~held]).size == known for held in parts):
            return folds
    records = f"{len(reports)} sample{'s' if len(reports) > 1 else ''}"
    raise ValueError(f"{records} cannot be split into {FOLDS} folds with every class to judge recipes by; give more")
