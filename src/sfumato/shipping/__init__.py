"""The model goes home: a JSON file with the plan, the promise and the measured error, applied on the device."""

from sfumato.shipping.shipped import KINDS, METHODS, Shipped, check_values, load, promise_of, save

__all__ = ["Shipped", "save", "load", "promise_of", "check_values", "METHODS", "KINDS"]
