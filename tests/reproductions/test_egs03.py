"""EGS03 again: the known numbers of its examples, and a whole quick run."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import sfumato as sf
from reproductions import Rows, egs03
from reproductions.egs03 import breaches, runs
from reproductions.quest import Quest


def test_example_one_has_the_computed_numbers() -> None:
    prior, r1, r2, r3 = breaches.example_table()
    assert [prior["Q1"], prior["Q2"]] == pytest.approx([0.01, 0.4050], abs=5e-5)
    assert [r1["Q1"], r1["Q2"], r1["gamma"]] == pytest.approx([0.7163, 0.8295, 250], abs=5e-5)
    assert [r2["Q1"], r2["Q2"]] == pytest.approx([0.0481, 1.0], abs=5e-5)
    assert r2["gamma"] == float("inf")
    assert [r3["Q1"], r3["Q2"]] == pytest.approx([0.0294, 0.7077], abs=5e-5)
    assert r3["gamma"] == pytest.approx(5.98, abs=5e-3)


def test_information_measures_have_the_computed_numbers() -> None:
    r1, r2 = ([v for k, v in row.items() if k != "operator"] for row in breaches.information_table())
    assert r1 == pytest.approx([0.02905, 0.02905, 0.0294, 1.198], rel=2e-3)
    assert r2 == pytest.approx([0.0000919, 0.9192, 2.329, 1.198], rel=2e-3)


def test_compression_has_the_lengths_of_the_paper() -> None:
    lengths = {(row["items"], row["rho"]): row["BCH"] for row in runs.compression_table()}
    assert [lengths[n, rho] for n in (1000, 10_000) for rho in ("1/2", "eighths")] == [40, 144, 56, 180]


def test_a_quick_run_writes_everything_and_keeps_the_exact_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the ends of the charts only: what the claims read."""
    for name, few in {"PRIORS": (0.01, 0.2), "QUICK_SIZES": (3, 5, 10), "MILLIONS": (1, 10)}.items():
        monkeypatch.setattr(runs, name, few)
    monkeypatch.setattr(runs, "quest_rows", lambda scale: small_quest())
    monkeypatch.setattr(runs, "REAL", {"none": absent})
    said: list[str] = []
    claims = egs03.reproduce(tmp_path, scale="quick", say=said.append)
    written = {path.name for path in tmp_path.iterdir()}
    charts = {f"lds_by_{name}.{kind}" for name in ("breach_level", "size", "reports") for kind in ("csv", "png")}
    tables = {"example1.csv", "information.csv", "compression.csv", "mining.csv", "operators.csv"}
    assert charts | tables | {"statements.md", "index.html"} == written
    unmeasured = [s.text for s in claims if s.kept is None]
    assert unmeasured == ["Supports in real baskets are found with the errors that are stated"]
    not_kept = [s.text for s in claims if s.kept is False and "can be mined" not in s.text]
    assert not_kept == ["The two-level form is a good choice for the smallest discoverable support"]
    assert all(s.where for s in claims)
    assert any("none left out: not here" in line for line in said)
    with (tmp_path / "lds_by_size.csv").open() as file:
        five = next(row for row in csv.DictReader(file) if row["items in a basket"] == "5")
    assert float(five["two-level 3"]) == pytest.approx(0.496, abs=5e-4)


def absent(seed: int) -> Rows:
    raise OSError("not here")


def test_seeds_amplify_as_their_law_does_and_breaches_need_their_information() -> None:
    for over_seeds, of_law in runs.seed_amplification():
        assert over_seeds == pytest.approx(of_law, rel=1e-9)
    upward, downward = breaches.least_information_beyond_breaches(trials=20, seed=9)
    assert upward >= -1e-9 and downward >= -1e-9


def test_select_a_size_finds_rarer_itemsets_than_the_others_at_one_gamma() -> None:
    found = runs.operators()
    assert [law.gamma <= 19 * (1 + 1e-9) for law in found.values()] == [True, True, True, False]
    worst = [runs._worst_support(law) for law in found.values()]
    assert worst[0] < worst[1] < worst[2]


def test_census_answers_are_baskets_of_five() -> None:
    baskets, items = runs.adult_baskets()
    assert set(baskets.sizes.tolist()) == {5} and "sex=Female" in items.labels


def small_quest() -> Rows:
    """Twenty thousand people: enough to see that the pieces fit."""
    channel = sf.SelectASize.design(sf.Items(100), sizes=[5], gamma=19, prevalence=0.1)
    baskets = Quest(items=100, smallest=5, largest=5, patterns=3).baskets(20_000, rng=1)
    row = runs.compare(baskets, channel.randomize(baskets, rng=1), channel, 0.2)
    assert row["F1 of 1"] > 0.8
    return [{"data": "Quest-like, 10 habits", "run": 1, "people": 20_000, **row}]
