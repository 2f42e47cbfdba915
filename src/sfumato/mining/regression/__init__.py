"""Regression with blurred columns: coefficients with standard errors."""

from sfumato.mining.regression.regress import regress
from sfumato.mining.regression.result import Regression

__all__ = ["regress", "Regression"]
