"""Records as points in space, so that distances between them can be measured and learners can read them."""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata.table.fields import Microdata

MOST_INDICATORS = 20
"""Categories of more labels are not indicators but numbers, the codes in the order of class shares. Chosen by
judgement: each indicator is a column, and rare labels hardly change distances."""

CLOSE = 0.1
"""Standard deviations within which a released number counts as disclosing the true one. A convention, stated in the
report; a larger one counts more values as disclosed."""


def points(data: Microdata, reference: Microdata) -> Floats:
    """Return records as points [record, coordinate], between which distances can be measured.

    Numbers are centred and divided by the reference's standard deviation; a missing one is 0. A category becomes one
    indicator a label, divided by √2, so that two different labels are at distance 1.
    """
    columns = []
    for index, field in enumerate(data.fields):
        column, whole = data.X[:, index], reference.X[:, index]
        present = whole[~np.isnan(whole)]
        middle, deviation = (present.mean(), present.std()) if present.size else (0.0, 0.0)
        filled = np.where(np.isnan(column), middle, column)
        if field.kind == "category" and len(field.labels) <= MOST_INDICATORS:
            columns += [(column == code) / np.sqrt(2) for code in range(len(field.labels))]
        elif deviation > 0:
            columns.append((filled - middle) / deviation)
    return np.column_stack(columns) if columns else np.zeros((len(data.y), 1))
