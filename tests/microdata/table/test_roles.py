"""Roles are proposed, can be overridden, and each does something."""

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.microdata import Donors
from sfumato.microdata.table.fields import read_forms, read_microdata
from sfumato.microdata.table.roles import agree_roles, anonymity, load_roles
from tests.microdata.conftest import mixed_table


def proposed(table, target="class", given=None):
    return agree_roles({name: form.values for name, form in read_forms(table).items()}, target, given).by_column


def with_identifiers():
    table = mixed_table()
    rng = np.random.default_rng(0)
    return {
        "number": np.arange(300) + 17,
        "name": np.array([f"p{place}" for place in range(300)]),
        "patient_id": rng.choice(10**6, 300, replace=False),
        "country": np.full(300, "Latvia"),
        **table,
    }


def test_roles_are_proposed_from_names_and_values():
    assert proposed(with_identifiers()) == {
        "number": "identifier",
        "name": "identifier",
        "patient_id": "identifier",
        "country": "constant",
        "age": "quasi-identifier",
        "income": "quasi-identifier",
        "city": "quasi-identifier",
        "score": "quasi-identifier",
        "member": "quasi-identifier",
        "class": "sensitive",
    }


def test_a_measurement_without_ties_is_no_identifier():
    table = mixed_table()
    table["identity_score"] = table["score"]
    table["whole"] = np.random.default_rng(0).choice(10**6, 300, replace=False)
    assert proposed(table)["identity_score"] == proposed(table)["whole"] == "quasi-identifier"


def test_identifiers_are_left_out_and_the_owner_is_told_why():
    done = sf.release(with_identifiers(), "class", Donors(attempts=0), rng=0)
    assert list(done.table) == ["country", *mixed_table()]
    assert "name is left out of the release: 300 different texts in 300 records" in done.notes
    assert "number is left out of the release: it numbers the records" in done.notes
    assert done.report.to_dict()["roles"]["patient_id"] == "identifier"
    frame = sf.release(pd.DataFrame(with_identifiers()), "class", Donors(attempts=0), rng=0).table
    assert "name" not in frame.columns


def test_the_owner_overrides_and_free_columns_stay_with_the_risk_stated():
    table = with_identifiers()
    roles = {"number": "quasi-identifier", "score": "free", "age": "identifier"}
    done = sf.release(table, "class", Donors(attempts=0), roles=roles, rng=0)
    assert "number" in done.table
    assert "age" not in done.table
    assert np.array_equal(np.sort(done.table["score"]), np.sort(table["score"]))
    assert done.report.risk.stated > 0.95


def test_a_column_to_keep_must_not_be_an_identifier():
    with pytest.raises(ValueError, match="column 'name' is an identifier, which is left out; give it another role"):
        sf.release(with_identifiers(), "class", keep=["name"])


def test_a_target_of_another_role_is_not_guessed():
    done = sf.release(mixed_table(), "class", Donors(attempts=0), roles={"class": "free", "age": "sensitive"}, rng=0)
    names = {one.name for one in done.report.risk.findings}
    assert "guessing age" in names
    assert "guessing class" not in names


def test_uniques_k_and_l_are_counted_on_the_quasi_identifiers():
    table = {"a": [1, 1, 1, 2, 2, 3], "b": ["x", "x", "x", "y", "y", None], "class": [0, 1, 1, 0, 0, 1]}
    data = read_microdata(table, "class")
    found = anonymity(data, ["a", "b"], ["class"])
    assert (found.uniques, found.k, found.l) == (1 / 6, 1, 1)
    some = anonymity(data.take(np.arange(3)), ["a", "b"], ["class"])
    assert (some.uniques, some.k, some.l) == (0, 3, 2)
    everybody = anonymity(data, [], ["class"])
    assert (everybody.k, everybody.l) == (6, 2)


def test_roles_come_from_a_small_file(tmp_path):
    path = tmp_path / "roles.toml"
    path.write_text('[roles]\nage = "free"\n"full name" = "identifier"\n')
    assert load_roles(path) == {"age": "free", "full name": "identifier"}
    for text, words in (("[roles", "not readable TOML"), ("[roles]\nage = 3", "not texts")):
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            load_roles(path)
