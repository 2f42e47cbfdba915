"""Gaussian mixtures within classes, fitted on reports with the noise taken off."""

from sfumato.mining.mixture.classifier import MixtureClassifier

__all__ = ["MixtureClassifier"]
