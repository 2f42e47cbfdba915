"""Densities of true values: one hypothesis a file, and their average by how well each explains the reports.

    fit        what a hypothesis leaves                       atoms      many people at exactly one value
    curves     smooth curves, and the usual named densities   heaps      people who round
    even       anywhere, or anywhere on a stretch             errors     the covariance of an average
    peaks      a few normal distributions                     average    all of them together: method "smooth"
    noiseless  reports that give the data back                merging    very fine grids
"""

from sfumato.reconstruction.density.average import Candidates, SmoothFit
from sfumato.reconstruction.density.merging import smooth_merged

__all__ = ["Candidates", "SmoothFit", "smooth_merged"]
