"""Files become files, block by block: the same reports as in memory, whole or not at all, and in bounded memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import sfumato as sf
from sfumato.counts import from_codes
from sfumato.plan import ReportMaker, batches
from sfumato.tables import PLAN_COLUMN, inputs
from tests.statistics import assert_fits

PLAN = """
name = "town"
[attributes.age]
low = 20
high = 80
integer = true
channel = "gaussian"
privacy = 0.5
[attributes.income]
low = 0
high = 1000
channel = "square-wave"
gamma = 9
[attributes.elevel]
categories = [0, 1, 2]
channel = "choice"
default = "open"
levels = {open = {channel = "randomized-response", gamma = 19}, shy = {channel = "randomized-response", gamma = 3}}
[attributes.body]
channel = "correlated-gaussian"
ratio = 1
covariance = [[100, 60], [60, 80]]
[attributes.body.columns.weight]
low = 40
high = 160
[attributes.body.columns.height]
low = 140
high = 210
[attributes.district]
categories = ["1", "2", "north"]
channel = "randomized-response"
keep = 0.7
[attributes.group]
categories = ["A", "B"]
role = "class"
"""
SECRET = bytes(range(32))
CODED = ["age.code", "income.code", "elevel.code", "elevel.level", "weight", "height", "district.code", "group"]


@pytest.fixture
def plan() -> sf.Plan:
    return sf.Plan.loads(PLAN)


def people(n: int, seed: int = 0, **changed: Any) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {
        "age": pa.array(rng.integers(20, 81, n), mask=rng.random(n) < 0.1),
        "income": rng.uniform(0, 1000, n),
        "elevel": rng.integers(0, 3, n),
        "elevel.level": rng.choice(["open", "shy"], n),
        "weight": rng.uniform(40, 160, n),
        "height": rng.uniform(140, 210, n),
        "district": pa.array(rng.choice(["1", "2", "north"], n)).dictionary_encode(),
        "group": rng.choice(["A", "B"], n),
    }
    return pa.table(columns | changed)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files of 500, 40 and 300 people, read in blocks of at most 128."""
    monkeypatch.setattr(inputs, "BLOCK_ROWS", 128)
    for part, n in enumerate((500, 40, 300)):
        parquet.write_table(people(n, part), tmp_path / f"part-{part}.parquet")
    return tmp_path


@pytest.mark.parametrize("sources", ["part-*.parquet", ".", ["part-0.parquet", "part-1.parquet", "part-2.parquet"]])
def test_a_data_set_becomes_one_file_of_reports(plan: sf.Plan, folder: Path, sources: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(folder)
    (folder / "reports").mkdir()
    told: list[tuple[int, int]] = []
    number = plan.randomize(sources, to="reports/all.parquet", progress=lambda *done: told.append(done))
    assert number == 840 and told[-1] == (840, 840) and len(told) == 8
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    reports = parquet.read_table(folder / "reports/all.parquet")
    answers = pa.concat_tables([people(n, part) for part, n in enumerate((500, 40, 300))], promote_options="default")
    in_memory = plan.randomize(answers)
    assert reports.column_names == in_memory.column_names
    assert reports.schema.metadata == {PLAN_COLUMN.encode(): plan.origin.encode()}
    for name in ("group", "elevel.level"):
        assert reports[name].to_pylist() == answers[name].to_pylist()
    assert [age is None for age in reports["age"].to_pylist()] == [age is None for age in answers["age"].to_pylist()]
    kept = np.mean(np.array(reports["district"]) == np.array(answers["district"].to_pylist()))
    assert_fits([kept * 840, (1 - kept) * 840], [0.7, 0.3])


def test_the_types_of_reports_are_known_before_the_first_row(plan: sf.Plan, folder: Path) -> None:
    assert plan.randomize(folder, to=folder / "reports.parquet") == 840
    kinds = {field.name: str(field.type) for field in parquet.read_schema(folder / "reports.parquet")}
    assert kinds == {
        "age": "int64", "income": "double", "elevel": "int64", "elevel.level": "string", "weight": "double",
        "height": "double", "district": "string", "group": "string",
    }  # fmt: skip


def test_the_noise_is_fresh_and_that_of_a_seed_repeats(plan: sf.Plan, folder: Path) -> None:
    ages = []
    for name, rng in (("a", None), ("b", None), ("c", 7), ("d", 7)):
        plan.randomize(folder / "part-0.parquet", rng, to=folder / f"{name}.parquet")
        ages.append(parquet.read_table(folder / f"{name}.parquet")["income"].to_pylist())
    assert ages[0] != ages[1] and ages[2] == ages[3] != ages[0]


def test_reports_go_to_csv_with_their_plan(plan: sf.Plan, folder: Path) -> None:
    assert plan.randomize(folder, to=folder / "reports.csv") == 840
    reports = csv.read_csv(folder / "reports.csv")
    assert reports[PLAN_COLUMN].unique().to_pylist() == [plan.origin]
    assert reports["age"].null_count == sum(people(n, part)["age"].null_count for part, n in enumerate((500, 40, 300)))


def test_codes_are_of_the_smallest_type_and_mean_the_values(plan: sf.Plan, folder: Path) -> None:
    for codes in (False, True):
        plan.randomize(folder / "part-*.parquet", 3, to=folder / f"reports-{codes}.parquet", codes=codes)
    coded, values = (parquet.read_table(folder / f"reports-{codes}.parquet") for codes in (True, False))
    assert coded.column_names == CODED
    assert [str(coded.schema.field(name).type) for name in CODED if name.endswith(".code")] == [
        "int16", "int16", "int8", "int8",
    ]  # fmt: skip
    decoded = from_codes(coded, plan)
    for name in values.column_names:
        assert decoded[name].to_pylist() == values[name].to_pylist(), name


def test_csv_and_json_lines_are_read_block_by_block_too(plan: sf.Plan, folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(inputs, "BLOCK_BYTES", 4096)
    table = people(700)
    table = table.set_column(6, "district", table["district"].cast(pa.string()))
    csv.write_csv(table, folder / "people.csv")
    lines = table.to_pandas().to_json(orient="records", lines=True)
    (folder / "people.jsonl").write_text(lines)
    told: list[tuple[int, int]] = []
    for name in ("people.csv", "people.jsonl"):
        told.clear()
        assert plan.randomize(folder / name, to=folder / "r.parquet", progress=lambda *done: told.append(done)) == 700
        assert len(told) > 5 and told[-1] == (700, 700)
        reports = parquet.read_table(folder / "r.parquet")
        assert reports["group"].to_pylist() == table["group"].to_pylist()
        assert reports["age"].null_count == table["age"].null_count


# --- what a cluster runs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [False, True])
def test_a_record_gets_the_same_report_wherever_and_however_often_it_is_made(plan: sf.Plan, codes: bool) -> None:
    table, places = people(600), np.arange(600) + 10**12
    maker = ReportMaker(plan, tuple(table.column_names), codes=codes, secret=SECRET)
    whole = maker(places, table)
    assert whole.schema == maker.schema
    assert maker.schema.names == (CODED if codes else plan.randomize(table).column_names)
    elsewhere = pickle.loads(pickle.dumps(maker))
    for start, stop in ((0, 1), (1, 250), (250, 600), (0, 600)):
        assert elsewhere(places[start:stop], table.slice(start, stop - start)).equals(whole.slice(start, stop - start))
    order = np.random.default_rng(0).permutation(600)
    assert elsewhere(places[order], table.take(order)).to_pydict() == whole.take(order).to_pydict()
    other = ReportMaker(plan, tuple(table.column_names), codes=codes, secret=bytes(32))
    assert other(places, table)["weight"].to_pylist() != whole["weight"].to_pylist()


def test_a_maker_does_not_show_its_secret(plan: sf.Plan) -> None:
    shown = repr(ReportMaker(plan, tuple(people(1).column_names), secret=b"secret of one job"))
    assert "secret" not in shown and "of one job" not in shown


def test_machines_that_draw_differently_are_refused(plan: sf.Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(3)
    maker = ReportMaker(plan, tuple(table.column_names), secret=SECRET)
    monkeypatch.setattr(batches, "has_cipher", lambda: not maker.ciphered)
    with pytest.raises(ImportError, match=r"cryptography is on some machines.*sfumato\[fast\]"):
        maker(np.arange(3), table)


# --- refusals -----------------------------------------------------------------------------------------------------


def test_a_bad_answer_is_named_by_its_row_in_its_file_and_nothing_is_written(plan: sf.Plan, folder: Path) -> None:
    ages = np.full(300, 30)
    ages[[200, 290]] = 99
    parquet.write_table(people(300, age=pa.array(ages)), folder / "part-2.parquet")
    (folder / "reports.csv").write_text("precious")
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(ValueError, match=r"part-2.parquet: row 201, column 'age': .* outside integers from 20 to 80"):
        plan.randomize(folder, to=folder / "reports.csv")
    assert (folder / "reports.csv").read_text() == "precious"
    assert sorted(path.name for path in folder.iterdir()) == before


def wrong_columns(folder: Path) -> None:
    parquet.write_table(people(5).drop_columns(["age"]), folder / "part-1.parquet")


def more_columns(folder: Path) -> None:
    parquet.write_table(people(5, diagnosis=["flu"] * 5), folder / "part-1.parquet")


def unknown_columns(folder: Path) -> None:
    for part in range(3):
        parquet.write_table(people(5, diagnosis=["flu"] * 5), folder / f"part-{part}.parquet")


def cut_file(folder: Path) -> None:
    whole = (folder / "part-1.parquet").read_bytes()
    (folder / "part-1.parquet").write_bytes(whole[: len(whole) // 2])


def broken_middle(folder: Path) -> None:
    """The footer is whole, so that it shows only when the rows are read."""
    content = bytearray((folder / "part-2.parquet").read_bytes())
    content[4:600] = bytes(596)
    (folder / "part-2.parquet").write_bytes(content)


def reports_already(folder: Path) -> None:
    table = people(5).replace_schema_metadata({PLAN_COLUMN: "0123456789abcdef town"})
    parquet.write_table(table, folder / "part-1.parquet")


def nobody(folder: Path) -> None:
    for part in range(3):
        parquet.write_table(people(0), folder / f"part-{part}.parquet")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (wrong_columns, r"part-1.parquet: column 'age' is missing, which .*part-0.parquet has"),
        (more_columns, r"part-1.parquet: has a column 'diagnosis', which .*part-0.parquet has not"),
        (unknown_columns, r"part-0.parquet: column 'diagnosis' has no channel"),
        (cut_file, r"part-1.parquet: not a readable parquet file"),
        (broken_middle, r"part-2.parquet: not a readable parquet file"),
        (reports_already, r"part-1.parquet: 'sfumato.plan' says that these are reports"),
        (nobody, r"part-0.parquet and 2 more files: no rows"),
    ],
)
def test_a_wrong_file_is_named(plan: sf.Plan, folder: Path, spoil: Any, words: str) -> None:
    spoil(folder)
    with pytest.raises(ValueError, match=words):
        plan.randomize(folder, to=folder / "reports.csv")
    assert not (folder / "reports.csv").exists()


def test_wishes_that_cannot_be_met_are_refused(plan: sf.Plan, folder: Path) -> None:
    with pytest.raises(ValueError, match="say with to= which file"):
        plan.randomize(str(folder / "*.parquet"))
    with pytest.raises(ValueError, match="key is for tables in memory"):
        plan.randomize(folder, to=folder / "r.csv", key=SECRET)
    with pytest.raises(ValueError, match="is the same file as"):
        plan.randomize(folder, to=folder / "part-1.parquet")
    with pytest.raises(ValueError, match="no file fits the pattern"):
        plan.randomize(folder / "absent-*.parquet", to=folder / "r.csv")
    baskets = sf.Plan("b", {"b": sf.Attribute("b", sf.Items(6), sf.SelectASize.design(sf.Items(6), [2], gamma=9))})
    parquet.write_table(pa.table({"b": [[1, 2]]}), folder / "baskets.parquet")
    with pytest.raises(ValueError, match="baskets do not fit in a table's column"):
        baskets.randomize(folder / "baskets.parquet", to=folder / "r.csv")


# --- memory -------------------------------------------------------------------------------------------------------

PEAK = """
import sys
import sfumato as sf
from sfumato.tables import inputs
inputs.BLOCK_ROWS = 1 << 14
plan = sf.Plan("p", {"age": sf.Attribute("age", sf.Interval(0, 1), sf.Gaussian(sf.Interval(0, 1), privacy=1.0))})
plan.randomize(sys.argv[1], to=sys.argv[2])
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) // 1024)  # of this program alone, unlike ru_maxrss, which survives exec
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell the peak of a process")
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Four million numbers are 32 MB, and as much again wherever they are copied."""
    peaks = []
    for rows in (100_000, 4_000_000):
        schema = pa.schema([("age", pa.float64())])
        with parquet.ParquetWriter(tmp_path / "people.parquet", schema) as writer:
            for _ in range(rows // 100_000):
                writer.write_table(pa.table({"age": np.random.default_rng(0).random(100_000)}))
        command = [sys.executable, "-c", PEAK, str(tmp_path / "people.parquet"), str(tmp_path / "r.parquet")]
        peaks.append(int(subprocess.run(command, capture_output=True, check=True, text=True).stdout))
    assert peaks[1] < peaks[0] + 24, peaks
