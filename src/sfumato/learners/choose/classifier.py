"""`Chooser`: choose among learners, called recipes, those that predict best from true values, by the reports alone.

Every recipe is fitted to a part of the reports and judged on held-out people by the likelihood of the classes that they
reported, with true values drawn behind their other reports (`judging`). Nobody's true value is needed, and no recipe is
judged by the noise that it was fitted to. Held-out reports seldom say which recipe is best, so that all recipes m that
are not far behind the best predict together (decision 25),

    P(y | x) = Σ_m w_m · P_m(y | x),    w_m ∝ 2^−(standard errors behind the best)
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
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners import LEARNERS
from sfumato.learners.choose.accuracy import Predictor, accuracy
from sfumato.learners.choose.judging import (
    ABOUT_AS_GOOD,
    DRAWS,
    Judge,
    calibrated_log_likelihood,
    class_log_likelihood,
    first_as_good,
    mean_one_weights,
    pool_weights,
)
from sfumato.learners.choose.on_grid import judge_on_grid
from sfumato.learners.choose.recipes import densities, direct, readable, reconstructing
from sfumato.learners.classes import at_face_value, class_codes_in, class_people
from sfumato.learners.device import DeviceForm
from sfumato.learners.estimator import Channels, Column, Learner, learner_named
from sfumato.learners.face_value import FaceValueClassifier
from sfumato.learners.tree import TreeClassifier
from sfumato.learners.tree.model import Feature, Tree
from sfumato.prose import Voice, listed, percent

FOLDS = 3
"""Parts of the people, of which one or each in turn is held out. By judgement; more leave more people to fit, and cost
as many fits more."""
TRIES = 32
"""Divisions into folds that are tried until every class is in each that is learned from. By judgement; where none of
them is such, a class has hardly anybody."""
MOST_READ = 100_000
"""Records on which recipes are judged, a fixed sample of more. By judgement, for time."""
FEW = 4_000
"""Records up to which every fold is held out in turn: more of them make differences clear with one. By judgement."""
COSTLY = 1e6
"""Records · columns · classes, summed over the held-out folds, beyond which fewer folds are held out. By judgement, for
time."""
MOST_JUDGED = 3_500
"""Held-out people on whom recipes are judged. By judgement, for time; more find smaller differences."""
MOST_NUMBERS = 5e6
"""Probabilities (people · draws · classes) that are held at once: 20 MB in single precision for each recipe."""
ALONE = 1.0
"""Standard errors behind the best within which the first recipe is taken where one predicts alone (decision 25: the
first within one lost 2.5 points to the best in hindsight, within two 3.1)."""
MOST_LEAVES = 30
"""Leaves up to which people read a tree, so that it is preferred to a formula that predicts about as well. By
judgement; a larger tree has to be within half as many standard errors of the best."""
GRAIN = 2.0**30
"""Probabilities that are added up are rounded to 1/GRAIN, so that languages whose exp differs in the last digit predict
the same class; coarser would change what is predicted, finer would not absorb the difference after many operations."""


class Chooser(Learner):
    """The recipes that will predict best from true values, chosen by the reports alone; they predict together.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name; a column
        ``<name>.level`` says which level of a choice each person took. None: nothing is blurred.
    recipes: unfitted classifiers by name, those first that are to be taken unless others are clearly better; None:
        every learner that accounts for the noise (gaussian mixtures, naive Bayes, a mixture of products, tree, sum of
        terms) and three that take reports at face value. Classifiers of scikit-learn are wrapped in
        `FaceValueClassifier`.
    combine: True: all recipes that are not far behind the best predict together. False: the first that is about as good
        as the best predicts alone.
    readable: only models that people can read, one alone: a tree, or a sum of terms.
    label_channel: the channel that class labels went through; None: they are clear.
    random_state: a whole number or a NumPy generator, by which people are held out and true values drawn; None: 0.

    Recipes are judged on a fixed sample of at most 100,000 records; those that are chosen are fitted to all.

    Fitted: ``scores_`` (log-likelihood of a held-out person's class, by recipe), ``weights_`` (of each recipe that
    predicts), ``chosen_`` (the recipe with the largest weight), ``members_`` (the fitted models), ``estimator_`` (the
    only member), ``accuracy_`` (the estimated accuracy on true values, and its standard error).

    >>> import numpy as np, sfumato as sf
    >>> age, rng = sf.Gaussian(sf.Interval(20, 80), privacy=0.5), np.random.default_rng(1)
    >>> ages = rng.uniform(20, 80, 1000)
    >>> recipes = {"by moments": sf.NaiveBayesClassifier([age], "moments"), "direct": sf.FaceValueClassifier()}
    >>> chooser = sf.Chooser([age], recipes=recipes, combine=False).fit(age.randomize(ages, rng)[:, None], ages > 50)
    >>> chooser.chosen_
    'by moments'
    >>> chooser.predict([[30.0], [70.0]]).tolist()
    [False, True]
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
        parts = fit_on_folds(recipes, sample, every_fold=self.readable)
        judgement = judge_recipes(parts[: folds_to_judge(sample)], sample, rng)
        on_grid = judge_on_grid(parts, sample, judgement.shares) if self.readable and len(recipes) > 1 else None
        scores = judgement.scores if on_grid is None else -on_grid.loss
        self.scores_ = dict(zip(recipes, scores.tolist(), strict=True))
        about = ABOUT_AS_GOOD if first_is_small(parts) else ABOUT_AS_GOOD / 2
        weights = one_hot(len(recipes), on_grid.first_as_good(about)) if on_grid else self._weights(judgement)
        self.accuracy_ = judgement.accuracy(weights, sample, rng)
        chosen = {name: weight for name, weight in zip(recipes, weights.tolist(), strict=True) if weight}
        self._keep(chosen, [fit_copy(recipes[name], reports, self.classes_) for name in chosen])

    def _weights(self, judgement: Judgement) -> Floats:
        """Return the weight of each recipe: of several by how far each is behind, or 1 of the one that is taken."""
        if self.combine and not self.readable:
            return pool_weights(judgement.logs, judgement.weight)
        return one_hot(len(judgement.logs), first_as_good(judgement.logs, judgement.weight, ALONE))

    def _keep(self, weights: dict[str, float], members: list[Learner]) -> None:
        """Keep the fitted models that predict, with their weights by recipe."""
        self.weights_, self.members_ = weights, members
        self.chosen_ = max(weights, key=lambda name: weights[name])

    def _recipes(self, reports: Reports) -> dict[str, Learner]:
        """Return the recipes that are compared, as learners by name."""
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
            name: recipe if isinstance(recipe, Learner) else FaceValueClassifier(recipe, self.channels)
            for name, recipe in self.recipes.items()
        }

    # --- predictions --------------------------------------------------------------------------------------------

    @property
    def estimator_(self) -> Learner:
        """The fitted model that predicts alone; AttributeError where several predict together."""
        check_is_fitted(self, "members_")
        if len(self.members_) > 1:
            raise AttributeError(f"{len(self.members_)} learners answer together; they are in members_")
        return self.members_[0]

    def _scores(self, columns: list[Column]) -> Floats:
        """Return Σ_m w_m · P_m(class | x), each P rounded to 2⁻³⁰, one row a record; a single member's own scores.

        Rounding makes languages predict the same class although their exp differs in the last digit.
        """
        if len(self.members_) == 1:
            return self.members_[0]._scores(columns)
        pairs = zip(self.weights_.values(), self.members_, strict=True)
        return np.asarray(sum(weight * round_to_grain(member._probabilities(columns)) for weight, member in pairs))

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
        """Return (the decision tree, its columns) where one tree predicts alone; None otherwise."""
        return self.members_[0].deciding_tree() if len(self.members_) == 1 else None

    def device_classes(self) -> list[Any] | None:
        return self.members_[0].device_classes() if len(self.members_) == 1 else super().device_classes()

    # --- to read ------------------------------------------------------------------------------------------------

    @property
    def reconstructs_(self) -> bool:
        """Whether members that account for the noise have at least half of the weight."""
        check_is_fitted(self, "members_")
        pairs = zip(self.weights_.values(), self.members_, strict=True)
        direct = sum(weight for weight, member in pairs if isinstance(member, FaceValueClassifier))
        return bool(2 * direct <= sum(self.weights_.values()))

    def verdict(self, accuracy: bool = True) -> str:
        """Return the choice in sentences: which recipes predict and why, and the score of each.

        accuracy: with the estimated accuracy on true values; False where that is measured and stated elsewhere.
        """
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
        sentences = [f"{way}: {what}; {why}.", *([well] if accuracy else [])]
        return " ".join([*sentences, f"Log-likelihood of held-out classes, a record: {scores}."])

    # --- plain data ---------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        return {
            "scores": self.scores_, "accuracy": list(self.accuracy_), "chosen": list(self.weights_),
            "weights": list(self.weights_.values()),
            "members": [{"kind": type(member).__name__, "model": member.to_dict()} for member in self.members_],
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
        weights = given_numbers(data, "weights", (len(names),), LEAST_DOUBLE)
        members = [member_of(row, data) for row in given_rows(data, "members", len(names))]
        if not members:
            raise ValueError("the chooser has chosen nothing")
        model._keep(dict(zip(names, weights.tolist(), strict=True)), members)
        return model


def member_of(document: Any, data: Mapping[str, Any]) -> Learner:
    """Return the fitted model of a row of a chooser's document; ValueError if its columns or classes are others.

    document: the row, with the name of the learner and its model. data: the chooser's own document.
    """
    learned = given_table(document, "model")
    for key in ("attributes", "classes"):
        if list(given_rows(learned, key)) != list(data[key] or ()):
            raise ValueError(f"{key} of the chosen model differ from those of the chooser")
    kinds = [kind for kind in LEARNERS if kind != "Chooser"]
    member: Learner = learner_named(given_one_of(document, "kind", kinds)).from_dict(learned)
    return member


def round_to_grain(p: Floats) -> Floats:
    """Round probabilities to multiples of 2⁻³⁰."""
    return np.asarray(np.rint(p * GRAIN) / GRAIN)


def one_hot(size: int, chosen: int) -> Floats:
    """Return weights of which one is 1 and the others are 0."""
    return np.asarray(np.arange(size) == chosen, np.float64)


def fit_copy(recipe: Learner, reports: Reports, classes: npt.NDArray[Any]) -> Learner:
    """Return a copy of a recipe, fitted to reports, that predicts classes by these labels."""
    model: Learner = clone(recipe).fit(reports)
    model.classes_ = classes
    return model


def pool(weights: Floats, models: Sequence[Learner]) -> Predictor:
    """Return the function that computes Σ_m w_m · P_m(class | x) of records given by their columns."""
    pairs = [(weight, model) for weight, model in zip(weights.tolist(), models, strict=True) if weight]
    return lambda columns: sum(weight * model._probabilities(columns) for weight, model in pairs)


@dataclass(frozen=True)
class HeldOutFold:
    """A fold with the models and densities that learned from all other people.

    test: reports of the people on whom models are judged, or some of them. models: of each recipe. densities: models
    that can draw true values behind reports.
    """

    fold: Fold
    test: Reports
    models: Sequence[Learner]
    densities: Sequence[Any]


@dataclass(frozen=True)
class Judgement:
    """The log-likelihood of the classes that held-out people reported, by each recipe.

    logs: by recipe, log P(reported class) of every person. weight: of the people. shares: of the true classes.
    density: index of the first density that predicts the reported classes about best.
    """

    folds: Sequence[HeldOutFold]
    logs: list[Floats]
    weight: Floats
    shares: Floats
    density: int

    @property
    def scores(self) -> Floats:
        """The mean log-likelihood of each recipe, in nats a person."""
        return np.array([np.average(of_recipe, weights=self.weight) for of_recipe in self.logs])

    def accuracy(self, weights: Floats, reports: Reports, rng: np.random.Generator) -> tuple[float, float]:
        """Return (the estimated accuracy of the recipes' weighted mean on true values, its standard error)."""
        return accuracy([
            (pool(weights, part.models), part.test,
             with_held_out_fit(part.densities[self.density], records_of_fold(reports, part.fold)))
            for part in self.folds
        ], rng)


def records_of_fold(reports: Reports, fold: Fold) -> Reports:
    """Return the reports of the people in a fold."""
    return reports.of_records(np.flatnonzero(reports.chosen(fold)))


def first_is_small(parts: Sequence[tuple[Fold, Sequence[Learner]]]) -> bool:
    """Say whether the first recipe is a tree small enough for people to read; also True where it is no tree.

    A large one has to be closer to the likeliest to be taken. parts: each fold with the models that never saw it.
    """
    leaves = [models[0].get_n_leaves() for _, models in parts if isinstance(models[0], TreeClassifier)]
    return not leaves or bool(np.median(leaves) <= MOST_LEAVES)


def folds_to_judge(reports: Reports) -> int:
    """Return how many folds are held out in turn: all where people are few, one where a fit costs much."""
    size = len(reports) * len(reports.names) * len(reports.classes or ())
    return int(np.clip(COSTLY / size, 1, FOLDS)) if len(reports) <= FEW else 1


def fit_on_folds(
    recipes: Mapping[str, Learner], reports: Reports, *, every_fold: bool
) -> list[tuple[Fold, list[Learner]]]:
    """Return folds, each with every recipe fitted to all other people; ``every_fold``: also where fits cost much."""
    folds = folds_of(reports, class_codes_in(reports))[: FOLDS if every_fold else folds_to_judge(reports)]
    parts = []
    for fold in folds:
        train = records_of_fold(reports, ~fold)
        parts.append((fold, [clone(recipe).fit(train) for recipe in recipes.values()]))
    return parts


def judge_recipes(
    parts: Sequence[tuple[Fold, Sequence[Learner]]], reports: Reports, rng: np.random.Generator
) -> Judgement:
    """Judge models on the folds that they did not learn from.

    Every density in turn draws true values for the held-out reports; the log-likelihoods that follow are averaged, and
    a density counts the more the better it predicts the reported classes itself.

    parts: each fold with the models that learned from all other people.
    """
    most = max(most_judged(len(reports.classes or ())) // len(parts), 1)
    folds = []
    for fold, models in parts:
        rows = rng.permutation(np.flatnonzero(reports.chosen(fold)))[:most]
        generative = [model for model in models if hasattr(model, "draws_given")]
        densities = generative or fit_densities(records_of_fold(reports, ~fold))
        folds.append(HeldOutFold(fold, reports.of_records(rows), models, densities))
    weight, shares = np.concatenate([mean_one_weights(part.test) for part in folds]), shares_of(reports)
    of_densities = class_log_likelihoods(folds)
    density_weights = pool_weights(of_densities, weight)
    logs = [np.zeros_like(weight) for _ in parts[0][1]]
    for d in np.flatnonzero(density_weights).tolist():
        judges = [Judge(part.test, part.densities[d], shares, rng) for part in folds]
        label = np.concatenate([judge.label for judge in judges])
        for m, total in enumerate(logs):
            pairs = zip(judges, folds, strict=True)
            log_p = np.concatenate([judge.log_probabilities(part.models[m]) for judge, part in pairs], axis=1)
            total += density_weights[d] * calibrated_log_likelihood(log_p, label, weight, shares)
    return Judgement(folds, logs, weight, shares, first_as_good(of_densities, weight))


def class_log_likelihoods(folds: Sequence[HeldOutFold]) -> list[Floats]:
    """Return log P(reported class | other reports) of each held-out person, one array for each candidate density.

    A density is a model of P(class, true values). folds: held-out people, with the densities fitted to the others.
    """
    of_folds = [[class_log_likelihood(density, part.test) for density in part.densities] for part in folds]
    return [np.concatenate(of_density) for of_density in zip(*of_folds, strict=True)]


def estimated_accuracy(
    model: Learner, train: Reports, held_out: Reports, rng: np.random.Generator
) -> tuple[float, float]:
    """Return (the estimated share of people whose class a model predicts from true values, its standard error).

    train: what the model learned from, of which a fixed sample is read. held_out: reports that it never saw, by which
    the share is estimated. rng: random numbers for draws of true values.
    """
    rows = rng.permutation(len(held_out))[: most_judged(len(held_out.classes or ()))]
    test, fits = held_out.of_records(rows), fit_densities(train.sampled(MOST_READ))
    logs = [class_log_likelihood(density, test) for density in fits]
    best = fits[first_as_good(logs, mean_one_weights(test))]
    return accuracy([(model._probabilities, test, with_held_out_fit(best, held_out.sampled(MOST_READ)))], rng)


def with_held_out_fit(density: Any, held_out: Reports) -> list[Any]:
    """Return a density and, if every class was reported, one like it that learned from the held-out people alone."""
    codes = class_codes_in(held_out)
    if np.unique(codes).size < len(held_out.classes or ()):
        return [density]
    return [density, clone(density).fit(held_out)]


def most_judged(classes: int) -> int:
    """Return on how many people recipes are judged, so that their probabilities of so many classes fit in memory."""
    return int(min(MOST_JUDGED, MOST_NUMBERS / (DRAWS * max(classes, 1))))


def shares_of(reports: Reports) -> Floats:
    """Return the shares of the true classes, none of them zero."""
    people = class_people(reports)
    return np.asarray(people / people.sum())


def fit_densities(reports: Reports) -> list[Learner]:
    """Fit the usual densities, which draw true values behind reports where no recipe can."""
    return [density.fit(reports) for density in densities(reports.channels, reports.label_channel).values()]


def folds_of(reports: Reports, codes: Codes) -> list[Fold]:
    """Return folds such that, whichever is held out, every class is among the other people; ValueError without any.

    codes: the reported class of every record.
    """
    classes = np.unique(codes).size
    for salt in range(4, 4 + TRIES):
        folds = [Fold(number, FOLDS, salt=salt) for number in range(FOLDS)]
        in_folds = [reports.chosen(fold) for fold in folds]
        if all(in_fold.any() and np.unique(codes[~in_fold]).size == classes for in_fold in in_folds):
            return folds
    records = f"{len(reports)} sample{'s' if len(reports) > 1 else ''}"
    raise ValueError(f"{records} cannot be split into {FOLDS} folds with every class to judge recipes by; give more")
