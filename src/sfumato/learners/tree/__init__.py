"""Decision trees for true values, learned from reports."""

from sfumato.learners.tree.classifier import TreeClassifier

__all__ = ["TreeClassifier"]
