"""A classifier that prints as a formula: log-odds as a sum of readable terms, fitted by the likelihood of the reports.

    log P(y | x)/P(first class | x) = β_y0 + Σ_k β_yk·φ_k(x)

φ_k is linear, a hinge with an optimised knot, a product of two of them, or the effect of a label. Columns, terms, knots
and coefficients are learned from counts of reports alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sfumato.channels import Channel
from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.domain.checked import given_numbers, given_rows
from sfumato.learners.additive.fitting import learn
from sfumato.learners.additive.model import shares
from sfumato.learners.additive.terms import Factor, Term
from sfumato.learners.additive.text import FittedTerm, draw_terms, formula_of
from sfumato.learners.device import DeviceForm
from sfumato.learners.estimator import Channels, Column, Learner
from sfumato.prose import Voice


class AdditiveClassifier(Learner):
    """A classifier whose log-odds are a sum of readable terms, learned from reports.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name; a column
        ``<name>.level`` says which level of a choice each person took. None: all columns are clear.
    label_channel: the channel that the class labels went through, None if they are clear.
    max_terms: how many terms a block of columns may have, 1 or more; there are fewer where more do not pay. Up to five
        columns are a block; where more tell about the class, further blocks or straight lines follow.
    random_state: decides which half of the people judges the density of the other half: a whole number or a numpy
        RandomState; None is 0.

    Fitted: ``classes_``, ``attribute_names_``, ``n_features_in_``, ``terms_`` (words, coefficients, knots and their
    standard errors), ``intercept_`` (one a class, 0 for the first).

    Without noise the coefficients are those of scikit-learn's LogisticRegression(C=np.inf) on the same terms.

    >>> import numpy as np
    >>> import sfumato as sf
    >>> rng = np.random.default_rng(1)
    >>> age, income = rng.uniform(20, 80, 5000), rng.uniform(0, 100, 5000)
    >>> buys = np.where(age / 10 + income / 20 + rng.logistic(size=5000) > 8, "yes", "no")
    >>> channels = [sf.Gaussian(sf.Interval(20, 80), privacy=0.5), sf.Gaussian(sf.Interval(0, 100), privacy=0.5)]
    >>> reports = [channel.randomize(x, rng=rng) for channel, x in zip(channels, [age, income])]
    >>> model = sf.AdditiveClassifier(channels).fit(np.column_stack(reports), buys)
    >>> [term.words for term in model.terms_]
    ['(x0 − 20)', 'x1']
    >>> model.predict([[70, 90], [30, 20]]).tolist()
    ['yes', 'no']
    """

    form = "additive"

    def __init__(
        self, channels: Channels = None, *, label_channel: Channel | None = None, max_terms: int = 5,
        random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.label_channel = label_channel
        self.max_terms = max_terms
        self.random_state = random_state

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        if not isinstance(self.max_terms, (int, np.integer)) or self.max_terms < 1:
            raise ValueError(f"max_terms={self.max_terms!r} is not a number of terms; give 1 or more")
        learned = learn(reports, int(self.max_terms))
        self._keep(learned.terms, learned.beta, learned.covariance)

    def _keep(self, terms: list[Term], beta: Floats, covariance: Floats) -> None:
        """Keep what was learned: see `LearnedTerms`."""
        self.terms_in_units_, self.beta_, self.covariance_ = terms, beta, covariance

    # --- answers ------------------------------------------------------------------------------------------------

    def _scores(self, columns: list[Column]) -> Floats:
        """Return the log-odds of every class against the first, one row a record."""
        records = len(columns[0])
        scores = np.repeat(self.intercept_[None], records, axis=0)
        for factors, slope in self.products():
            added = np.repeat(slope[None], records, axis=0)
            for factor in factors:
                added *= factor.values(columns)[:, None]
            scores += added
        return scores

    def products(self) -> list[tuple[tuple[Factor, ...], Floats]]:
        """Return the factors of each term, and the coefficients of their product, one a class and 0 for the first."""
        slopes = np.column_stack([np.zeros(len(self.terms_in_units_)), self.beta_[:, 1:].T])
        return [(term.factors, slope) for term, slope in zip(self.terms_in_units_, slopes, strict=True)]

    def _probabilities(self, columns: list[Column]) -> Floats:
        """Return the chance of every class, one row a record."""
        scores = self._scores(columns)
        return np.asarray(shares(scores[:, 1:].T).T)

    def columns_read(self) -> list[int]:
        """Return the indices of the columns that have terms."""
        return sorted({column for term in self.terms_in_units_ for column in term.columns})

    def device_form(self, say: Voice) -> DeviceForm:
        """Return what a device evaluates: the intercepts, and the factors of each term with their coefficients."""
        terms = (
            {"factors": [factor.device_term() for factor in factors], "slope": slope.tolist()}
            for factors, slope in self.products()
        )
        return DeviceForm.sum(self.device_classes(), self.intercept_, terms)

    # --- to read ------------------------------------------------------------------------------------------------

    @property
    def intercept_(self) -> Floats:
        """The log-odds of each class against the first where all terms are 0; 0 for the first class."""
        return np.concatenate([[0.0], self.beta_[:, 0]])

    @property
    def terms_(self) -> list[FittedTerm]:
        """The terms in words, with coefficients and knots in the columns' own units and their standard errors."""
        check_is_fitted(self, "terms_in_units_")
        rows, width = self.beta_.shape
        error = np.sqrt(np.maximum(np.diag(self.covariance_), 0.0))
        fitted, at = [], rows * width
        for k, term in enumerate(self.terms_in_units_):
            free = [factor for factor in term.factors if factor.hinge]
            of_knots = [factor.unit * error[at + i] for i, factor in enumerate(free)]
            at += len(free)
            of_classes = error[[y * width + 1 + k for y in range(rows)]]
            words = term.words(self.attribute_names_)
            knots = np.array(term.knots), np.array(of_knots)
            fitted.append(FittedTerm(words, self.beta_[:, 1 + k] / term.unit, of_classes / term.unit, *knots))
        return fitted

    def formula(self) -> str:
        """Return the model as text: a line for each class but the first, coefficients with their standard errors."""
        check_is_fitted(self, "terms_in_units_")
        return formula_of(self.classes_.tolist(), self.beta_[:, 0], self.terms_)

    def plot(self, axes: Any = None) -> Any:
        """Draw what each term adds to the log-odds, one panel a term, with matplotlib; return the axes.

        axes: matplotlib's, one a term; None draws on new ones.
        """
        check_is_fitted(self, "terms_in_units_")
        return draw_terms(self.terms_in_units_, self.beta_, self.classes_.tolist(), self.attribute_names_, axes)

    # --- plain data ---------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """Return terms, coefficients and covariance as plain data."""
        return {
            "terms": [term.to_dict() for term in self.terms_in_units_],
            "beta": self.beta_.tolist(),
            "covariance": self.covariance_.tolist(),
        }

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        """Return the classifier of such plain data, after checking it."""
        model = cls()
        terms = [Term.from_dict(each, len(data["attributes"])) for each in given_rows(data, "terms")]
        rows = len(given_rows(data, "classes")) - 1
        beta = given_numbers(data, "beta", (rows, 1 + len(terms)))
        size = beta.size + sum(len(term.knots) for term in terms)
        model._keep(terms, beta, given_numbers(data, "covariance", (size, size)))
        return model
