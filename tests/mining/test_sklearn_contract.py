"""All estimators keep scikit-learn's contract with their defaults."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from sfumato.mining.joint import JointModel
from sfumato.mining.naive_bayes import NaiveBayes
from sfumato.mining.tree import TreeClassifier


@parametrize_with_checks([TreeClassifier(), JointModel(), NaiveBayes()])
def test_an_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)
