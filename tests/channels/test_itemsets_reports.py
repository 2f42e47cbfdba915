"""Reports keep their people, their sizes and their bits through every change of form."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.itemsets_reports import BasketReports

ITEMS = sf.Items(["tea", "milk", "bread"])
SHOWN = [["tea"], [], ["milk", "bread"]]


def reports() -> BasketReports:
    return BasketReports.of_lists(ITEMS, SHOWN, [2, 1, 2])


def test_lists_come_back() -> None:
    assert reports().to_lists() == SHOWN


def test_bytes_come_back() -> None:
    again = BasketReports.of_bytes(ITEMS, [2, 1, 2], reports().to_bytes(), compressed=False)
    assert again.to_lists() == SHOWN
    assert again.sizes.tolist() == [2, 1, 2]


def test_bytes_may_be_as_few_as_the_bits_need() -> None:
    short = reports().to_bytes(bits=3)
    assert [len(row) for row in short] == [1, 1, 1]
    assert BasketReports.of_bytes(ITEMS, [2, 1, 2], short, compressed=False).to_lists() == SHOWN


def test_reports_of_other_people_add_up() -> None:
    both = reports() + reports()[1:]
    assert both.to_lists() == SHOWN + SHOWN[1:]
    assert both.sizes.tolist() == [2, 1, 2, 1, 2]


def test_seeds_and_bitmaps_do_not_add_up() -> None:
    seeds = BasketReports(ITEMS, np.ones(1, dtype=np.uint16), np.zeros((1, 1), dtype=np.uint64), compressed=True)
    with pytest.raises(ValueError, match="do not add up"):
        reports() + seeds
    with pytest.raises(ValueError, match=r"channel\.expand"):
        seeds.to_lists()


def test_a_size_is_needed_for_every_report() -> None:
    with pytest.raises(ValueError, match="2 sizes for 3 reports"):
        BasketReports.of_lists(ITEMS, SHOWN, [2, 1])
