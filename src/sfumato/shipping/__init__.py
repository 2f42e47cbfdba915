"""Models as files for people's devices: JSON with the plan and the measured accuracy, or a tree in ONNX."""

from importlib import import_module
from typing import Any

from sfumato.shipping.forms import dumps, save
from sfumato.shipping.shipped import KINDS, METHODS, Shipped, load, loads, promise_of

__all__ = [
    "Shipped", "save", "load", "dumps", "loads", "save_onnx", "check_exchangeable", "promise_of",
    "METHODS", "KINDS",
]


def __getattr__(name: str) -> Any:
    """Return a function of `exchange` by its name; the module is imported only when one is first used."""
    if name in ("save_onnx", "check_exchangeable"):
        return getattr(import_module("sfumato.shipping.exchange"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
