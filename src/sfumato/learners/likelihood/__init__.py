"""Readable models fitted by the likelihood of the reports: any model of the joint distribution over true cells."""

from sfumato.learners.likelihood.density import Density
from sfumato.learners.likelihood.scoring import Expansion, Fit, Model, Observed, maximise

__all__ = ["Density", "Expansion", "Fit", "Model", "Observed", "maximise"]
