"""Records as points, so that they have distances and learners can read them."""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata.table.fields import Microdata

MOST_INDICATORS = 20
CLOSE = 0.1  # standard deviations within which a value is disclosed


def points(data: Microdata, reference: Microdata) -> Floats:
    """Records as points: numbers by the reference's standard deviation, categories as indicators."""
    columns = []
    for place, field in enumerate(data.fields):
        column, whole = data.X[:, place], reference.X[:, place]
        known = whole[~np.isnan(whole)]
        middle, deviation = (known.mean(), known.std()) if known.size else (0.0, 0.0)
        filled = np.where(np.isnan(column), middle, column)
        if field.kind == "category" and len(field.labels) <= MOST_INDICATORS:
            columns += [(column == code) / np.sqrt(2) for code in range(len(field.labels))]
        elif deviation > 0:
            columns.append((filled - middle) / deviation)
    return np.column_stack(columns) if columns else np.zeros((len(data.y), 1))
