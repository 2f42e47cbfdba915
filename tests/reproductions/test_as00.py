import csv
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from reproductions import as00
from reproductions.__main__ import main
from reproductions.agrawal import DOMAINS, TRUE_CUTS, as_matrix, generate
from reproductions.as00.beside import beside, effort_rows, reconstruction_work, xor_rows
from reproductions.as00.claims import all_claims, within
from reproductions.as00.runs import Accuracies, Extent, channels_for, read_rows, run_all, settings
from reproductions.as00.shapes import SHAPES, drawn, number_rows, shape_error, shape_rows, stop_rows
from sfumato.evidence import WITHIN_CLASSES, ChiSquare

TINY = Extent(train=600, test=300, runs=1, levels=(25,), functions=(1,), shape_values=2_000)


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory) -> tuple[Path, str]:
    """The folder that the command line leaves, and what it says."""
    place, said = tmp_path_factory.mktemp("as00"), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.setattr(as00, "QUICK", TINY)
        assert main(["as00", "--scale", "quick", "-o", str(place)]) == 0
    return place, said.getvalue()


@pytest.fixture(scope="module")
def folder(reproduced: tuple[Path, str]) -> Path:
    return reproduced[0]


def test_the_command_says_what_was_kept_and_where_everything_is(reproduced: tuple[Path, str]) -> None:
    place, said = reproduced
    assert "kept: " in said
    assert said.rstrip().replace("\n", "").endswith(f"everything is in {place}")


def test_the_full_experiment_is_the_paper_s():
    full = Extent()
    assert (full.train, full.test, full.runs) == (100_000, 5_000, 10)
    assert len(settings(full)) == 10 * 5 * (1 + 2 * 6)
    assert {setting.privacy for setting in settings(full)} == {0, 10, 25, 50, 100, 150, 200}


def test_every_attribute_is_blurred_at_the_stated_level():
    for noise in ("gaussian", "uniform"):
        for channel, domain in zip(channels_for(noise, 100), DOMAINS.values(), strict=True):
            width = channel.guarantee().interval(0.95)
            assert width == pytest.approx(domain.width, abs=1 if domain.integer else 0.01 * domain.width)


def test_the_folder_holds_figures_tables_and_a_page_that_judges_every_claim(folder):
    names = {path.name for path in folder.iterdir()}
    assert names >= {"accuracies.csv", "means.csv", "figure2.csv", "figure2.png", "figure5.png", "figure6.png"}
    page = (folder / "statements.md").read_text()
    assert page.count("**kept**") + page.count("**not kept**") + page.count("**not measured at this size**") == 30
    assert "6.58σ" in page and "it shows that everything runs, no more" in page
    for picture in ("figure2.png", "figure5.png", "figure6.png"):
        assert f"]({picture})" in page
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")


def test_the_page_states_the_stop_that_the_code_has(folder, monkeypatch):
    page = " ".join((folder / "statements.md").read_text().split())
    assert f"stop reconstructing at {100 * WITHIN_CLASSES.share:g} % of the χ² threshold, the paper at 1 %" in page
    monkeypatch.setattr(as00, "WITHIN_CLASSES", ChiSquare(share=0.05))
    assert "at 5 % of the χ² threshold" in " ".join(as00.described(TINY, {}).differences)


def test_every_cell_has_one_row_with_a_sensible_accuracy(folder):
    rows = list(csv.DictReader((folder / "accuracies.csv").open()))
    assert len(rows) == 1 + 2 * 6
    assert all(0.4 < float(row["accuracy"]) <= 1 for row in rows)


def test_a_second_start_runs_only_what_is_missing(folder, tmp_path, monkeypatch):
    lines = (folder / "accuracies.csv").read_text().splitlines(keepends=True)
    path = tmp_path / "accuracies.csv"
    path.write_text("".join(lines[:-1]) + lines[-1][:9])  # the last row was cut short
    worked = []
    real = as00.run_all.__globals__["run_setting"]
    monkeypatch.setitem(run_all.__globals__, "run_setting", lambda *a: worked.append(a[2]) or real(*a))
    rows = run_all(path, TINY, as00.silently)
    assert worked == [["joint model"]]
    assert len(rows) == len(lines) - 1
    before = [row for row in read_rows(folder / "accuracies.csv") if row["algorithm"] != "joint model"]
    assert [row for row in rows if row["algorithm"] != "joint model"][: len(before) - 1] == before[: len(before) - 1]


def test_rows_of_another_extent_are_left_out(folder):
    other = Extent(train=601, test=300, runs=1, levels=(), functions=())
    assert run_all(folder / "accuracies.csv", other, as00.silently) == []


def test_a_foreign_file_in_the_folder_is_refused(tmp_path):
    (tmp_path / "accuracies.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="choose another folder"):
        run_all(tmp_path / "accuracies.csv", TINY, as00.silently)


def test_both_reconstructions_of_figure_2_are_nearer_to_the_truth_than_the_reports():
    rows = shape_rows(20_000)
    for shape in SHAPES:
        for noise in ("gaussian", "uniform"):
            raw = shape_error(rows, shape, noise, "randomized")
            assert shape_error(rows, shape, noise, "as00") < raw
            assert shape_error(rows, shape, noise, "smooth") < raw / 2


def test_a_later_stop_brings_the_triangles_nearer_and_equation_2_takes_the_bias_of_midpoints_off():
    rows = stop_rows(50_000, seed=3)
    error = {(row["shape"], row["noise"], row["equation"], row["stop"]): row["error"] for row in rows}
    as_read, a_tenth = (error["triangles", "gaussian", "Equation 3", stop] for stop in ("1 % of χ²", "0.1 %"))
    assert a_tenth < 0.75 * as_read
    for shape in SHAPES:
        on_intervals, on_records = (error[shape, "uniform", f"Equation {i}", "0.1 %"] for i in (3, 2))
        assert on_records < 0.75 * on_intervals


def test_reconstructing_by_class_is_more_work_than_for_all_and_less_than_twice():
    together, apart = reconstruction_work(5_000)
    assert together < apart < 2.2 * together


def test_the_triangles_end_nearer_by_a_later_stop_and_by_more_values():
    few, many = number_rows([(5_000, 0.95), (50_000, 0.95)], 4)
    assert few["1 %"] > few["0.1 %"] > few["0.01 %"] and few["1 %"] > many["1 %"] and few["0.1 %"] > many["0.1 %"]


def test_a_clean_tree_that_asks_for_a_gain_stops_at_the_buried_xor():
    none, _, most = xor_rows(Extent(train=20_000, test=2_000))
    assert none["accuracy"] > 0.98 and most["accuracy"] < 0.95


def test_every_algorithm_s_effort_is_measured_in_every_cell():
    rows = effort_rows(600, (1,), rounds=1)
    assert [row["noise"] for row in rows] == ["gaussian", "uniform"]
    assert all(row[name] > 0 for row in rows for name in ("global", "byclass", "local"))


def made_up(accuracy):
    """Rows in which every algorithm scores what a function says."""
    cells = [(f, noise, level) for f in range(1, 6) for noise in ("gaussian", "uniform") for level in (25, 50, 100)]
    names = ("randomized", "global", "byclass", "local", "joint tree")
    rows = [
        {"function": f, "noise": noise, "privacy": level, "algorithm": name}
        for f, noise, level in cells
        for name in names
    ]
    rows += [{"function": f, "noise": "none", "privacy": 0, "algorithm": "original"} for f in range(1, 6)]
    return [{**row, "accuracy": accuracy(row)} for row in rows]


def test_the_verdicts_follow_the_accuracies():
    scores = {"original": 0.99, "randomized": 0.7, "global": 0.8, "byclass": 0.97, "local": 0.975, "joint tree": 0.98}
    found = Accuracies(made_up(lambda row: scores[row["algorithm"]]))
    text = {s.text: s.kept for s in all_claims(found, drawn(2_000, 1), beside(TINY))}
    assert text["ByClass and Local at 25 and 50 % are very close to Original"] is True
    assert text["Global does worse than ByClass and Local overall"] is True
    assert text["Local is marginally better than ByClass"] is True
    assert text["Randomized is quite close to Original on functions 4 and 5"] is False
    assert text["Before correction uniform noise costs much more than gaussian"] is False


def test_a_claim_without_runs_is_not_measured():
    assert within("anything", [], 0.1).kept is None


def test_no_interval_edge_of_the_trees_falls_on_a_true_cut_by_luck():
    people, group = generate(500, 2, np.random.default_rng(0))
    channels = channels_for("gaussian", 100)
    tree = sf.TreeClassifier(channels, "byclass", intervals=100).fit(as_matrix(people), group)
    edges = {feature.name: feature.edges for feature in tree.features_}
    for name, cuts in TRUE_CUTS.items():
        of_tree = edges[f"x{list(DOMAINS).index(name)}"]
        assert len(of_tree) == 101
        assert all(np.abs(of_tree - cut).min() > 1e-4 * DOMAINS[name].width for cut in cuts)
