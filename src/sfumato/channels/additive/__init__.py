"""Noise that is added on a grid: of one number (gaussian, uniform, laplace), or of several numbers of one person."""

from sfumato.channels.additive.correlated_noise import CorrelatedNoise
from sfumato.channels.additive.gaussian import Gaussian
from sfumato.channels.additive.laplace import Laplace
from sfumato.channels.additive.noise import AdditiveNoise
from sfumato.channels.additive.uniform import Uniform

__all__ = ["AdditiveNoise", "Gaussian", "Uniform", "Laplace", "CorrelatedNoise"]
