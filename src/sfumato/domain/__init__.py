"""The domains of the values that people answer, and the spaces of whole-number codes that stand for these values.

A *domain* is what a person knows: an interval of numbers, a list of categories, a set of items. A *space* is what a
channel computes with: every value of it has a whole-number code 0..size-1, and −1 stands for a missing value.
"""

from sfumato.domain.categories import CLOSE_TOGETHER, FEW_LABELS, MOST_ITEMS, Categories, Items
from sfumato.domain.grid import Cells, Grid, check_codes
from sfumato.domain.interval import Interval, Row
from sfumato.domain.labels import are_mixed, array_of_labels, codes_of_labels, places_of, sorted_labels, texts_of
from sfumato.domain.spec import DOMAIN_KEYS, Domain, domain_from_spec, domain_to_spec
from sfumato.domain.values import (
    MISSING,
    MOST_CODES,
    VALUES_SHOWN,
    Codes,
    Floats,
    as_array,
    as_numbers,
    at_row,
    is_categorical,
    is_missing,
    named,
    showing_values,
    the_value,
    with_gaps,
)

__all__ = [
    "Interval", "Row", "Categories", "Items", "CLOSE_TOGETHER", "FEW_LABELS", "MOST_ITEMS",
    "Domain", "DOMAIN_KEYS", "domain_to_spec", "domain_from_spec",
    "Grid", "Cells", "check_codes", "MOST_CODES",
    "Codes", "Floats", "MISSING", "as_array", "as_numbers", "is_categorical", "is_missing", "with_gaps",
    "are_mixed", "array_of_labels", "codes_of_labels", "places_of", "sorted_labels", "texts_of",
    "VALUES_SHOWN", "showing_values", "named", "the_value", "at_row",
]  # fmt: skip
