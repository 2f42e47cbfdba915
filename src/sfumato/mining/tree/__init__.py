"""Decision trees for true values, learned from reports."""

from sfumato.mining.tree.classifier import TreeClassifier

__all__ = ["TreeClassifier"]
