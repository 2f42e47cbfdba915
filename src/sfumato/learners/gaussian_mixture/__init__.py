"""Gaussian mixtures within classes, fitted on reports with the noise taken off."""

from sfumato.learners.gaussian_mixture.classifier import GaussianMixtureClassifier

__all__ = ["GaussianMixtureClassifier"]
