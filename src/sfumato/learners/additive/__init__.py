"""Log-odds as a sum of readable terms, fitted by the likelihood of the reports."""

from sfumato.learners.additive.classifier import AdditiveClassifier

__all__ = ["AdditiveClassifier"]
