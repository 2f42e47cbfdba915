"""Estimates from the reports of a plan, as figures for a program and as a page for people, online and offline."""

from sfumato.findings.analysis import counts, estimates, joint
from sfumato.findings.answers import baskets_in
from sfumato.findings.bars import rows_of
from sfumato.findings.page import Standing, chart_of, page_of

__all__ = [
    "page_of",
    "Standing",
    # the figures of a page
    "counts",
    "estimates",
    "joint",
    # one estimate, and baskets among other columns
    "rows_of",
    "chart_of",
    "baskets_in",
]
