"""Channels that add noise on a grid: to one number (gaussian, uniform, Laplace) or to several numbers of a person."""

from sfumato.channels.additive.correlated_noise import CorrelatedNoise
from sfumato.channels.additive.gaussian import Gaussian
from sfumato.channels.additive.laplace import Laplace
from sfumato.channels.additive.noise import AdditiveNoise
from sfumato.channels.additive.uniform import Uniform

__all__ = ["AdditiveNoise", "Gaussian", "Uniform", "Laplace", "CorrelatedNoise"]
