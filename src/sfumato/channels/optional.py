"""Modules of numba kernels, loaded when first used and done without where numba is missing."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def kernels_in(module: str) -> Any:
    """The module, or None where numba is missing; the caller then takes its NumPy form."""
    try:
        return import_module(module)
    except ImportError:
        return None
