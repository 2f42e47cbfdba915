"""The report measures what it says: against releases whose answers are known."""

import json
import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.microdata import IB04, Swap
from sfumato.microdata.draws import Draws
from sfumato.microdata.intruders.linkage import linked_by_attributes
from sfumato.microdata.kept.measures import associations
from tests.microdata.conftest import AS_IT_WAS, mixed_table


def test_an_unchanged_release_is_linked_wholly_and_keeps_everything(unchanged):
    report = unchanged.report.to_dict()
    assert report["risk"]["linked"] == 1
    assert report["risk"]["values_unchanged"] == report["risk"]["records_unchanged"] == 1
    assert report["patterns"]["rules"]["identical"]
    assert report["patterns"]["association_change"]["largest"] == 0
    assert all(bias["bias"] == 0 and bias["within"] for bias in report["biases"])
    assert all(one["original"] == one["released"] for one in report["patterns"]["utility"])


def test_equal_records_share_the_risk_of_being_linked():
    table = {"a": np.zeros(40), "b": np.repeat([1, 2], 20), "class": np.tile([0, 1], 20)}
    done = sf.release(table, "class", IB04(law="additive", labels="none", amount=0), rng=0)
    assert linked_by_attributes(done, Draws(0)) == pytest.approx(1 / 20)


def test_the_default_release_is_hard_to_link_and_says_so_in_words(large_release):
    report = large_release.report
    assert report.risk.linked < 0.1
    assert report.risk.whole_records < 0.01
    words = str(report)
    for start in ("Patterns.", "Statistics.", "Risk."):
        assert start in words


def test_the_public_form_leaves_out_what_helps_an_intruder(released):
    report = released.report
    public, internal = json.dumps(report.to_dict(public=True)), json.dumps(report.to_dict())
    for word in ("amount", "kept_rules", "width_left_by_the_leaf", "unchanged_by_attribute", "notes"):
        assert f'"{word}"' in internal
        assert f'"{word}"' not in public
    assert "income >" not in report.to_html(public=True)


def test_the_page_stands_alone_and_escapes_names():
    table = mixed_table()
    table["<script>"] = table.pop("score")
    page = sf.release(table, "class", rng=0).report.to_html()
    assert page.count("<svg") >= 4
    assert "<script" not in page
    assert re.findall(r'(?:src|href)="(?!data:)', page) == []


def test_associations_of_every_kind_of_pair():
    n = 500
    code = np.tile([0, 1], n // 2)
    table = {
        "number": code * 2.0,
        "label": np.where(code, "x", "y"),
        "same": np.where(code, "u", "v"),
        "other": np.repeat([0.0, 1.0], n // 2),
        "class": code,
    }
    found = associations(sf.release(table, "class", Swap(), rng=0).original)
    assert np.allclose(found[:3, :3], 1)
    assert np.allclose(found[3, :3], 0, atol=1e-9)


@pytest.mark.filterwarnings("error")
def test_columns_that_nobody_has_both_of_are_not_compared_and_counted():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 80))
    first[40:] = second[:40] = np.nan
    table = {"first": first, "second": second, "third": rng.normal(size=80)}
    report = sf.release(table, rng=0, **AS_IT_WAS).report
    assert not any("first and second" in one.what for one in report.biases)
    assert report.to_dict()["pairs_left_out"] == report.apart == 1
    assert "Not compared: 1 pair of attributes that fewer than 3 records have both of." in str(report)
