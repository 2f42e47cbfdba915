"""Linear and logistic regression with blurred columns: coefficients with standard errors."""

from sfumato.regression.regress import regress
from sfumato.regression.result import Regression

__all__ = ["regress", "Regression"]
