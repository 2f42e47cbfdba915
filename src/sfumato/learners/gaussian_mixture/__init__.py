"""Gaussian mixtures within classes, fitted to reports with their noise subtracted."""

from sfumato.learners.gaussian_mixture.classifier import GaussianMixtureClassifier

__all__ = ["GaussianMixtureClassifier"]
