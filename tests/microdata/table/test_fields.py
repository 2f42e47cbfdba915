"""Records as codes: another order of the labels changes no record."""

import numpy as np

from sfumato.microdata.table.fields import read_microdata
from tests.microdata.conftest import mixed_table


def test_records_coded_by_their_own_classes_are_the_same_records():
    table = mixed_table(200)
    table["city"] = np.where(np.arange(200) % 9 == 0, None, table["city"].astype(object))
    whole = read_microdata(table, "class")
    part = whole.take(np.arange(0, 200, 5))
    arranged = part.arranged()
    for name, column in part.to_table().items():
        assert np.array_equal(arranged.to_table()[name], column), name
    assert np.array_equal(arranged.like(whole.fields).X, part.X, equal_nan=True)
    place = whole.index("city")
    shares = [(part.y[arranged.X[:, place] == code] == 1).mean() for code in range(4) if code in arranged.X[:, place]]
    assert shares in (sorted(shares), sorted(shares, reverse=True))


def test_labels_with_an_order_of_their_own_keep_it():
    import pandas as pd

    sizes = pd.Categorical(["S", "L", "M", "S", "L", "M"], ["S", "M", "L"], ordered=True)
    data = read_microdata(pd.DataFrame({"size": sizes, "x": [1.0, 2, 3, 4, 5, 6], "class": list("abbaab")}), "class")
    assert data.arranged().fields[0].labels == ("S", "M", "L")
