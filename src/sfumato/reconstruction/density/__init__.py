"""Densities of true values: one hypothesis a file, and their average by how well each explains the reports.

    fit        `DensityFit`, one fit of a hypothesis          atoms      many people at exactly one value
    curves     smooth curves, and the usual named densities   heaps      people who round
    even       uniform over the domain, or over a stretch     errors     the covariance of an average
    peaks      a few normal distributions                     average    the average of all: method "smooth"
    noiseless  reports without noise                          merging    the average on merged cells

Constants were chosen by judgement or by the coverage of 90 % bars on the first shapes of
bench/reconstruction_coverage.py; its other shapes (``--held``) were kept for the figures of decision 20.
"""

from sfumato.reconstruction.density.average import Candidates, SmoothFit
from sfumato.reconstruction.density.merging import smooth_merged

__all__ = ["Candidates", "SmoothFit", "smooth_merged"]
