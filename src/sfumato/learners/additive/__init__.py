"""Additive models: log-odds as a sum of readable terms, fitted by the likelihood of the reports.

    terms        functions of one column, and products of two
    model        the chance of each class over cells, with its derivatives
    block        some columns in cells, to which terms are fitted
    screening    which columns tell about the class
    search       the terms of one block that pay
    linear       straight lines for many further columns
    fitting      all of it, from reports to terms
    text         the formula and the drawing
    classifier   the learner
"""

from sfumato.learners.additive.classifier import AdditiveClassifier

__all__ = ["AdditiveClassifier"]
