"""Counts become a density whose smoothness the reports decide, with error bars: method "smooth"."""

from sfumato.reconstruction.smooth.average import SmoothFit, smooth

__all__ = ["SmoothFit", "smooth"]
