"""What files of tables are read as, in every form, whole and block by block; and what is said of those that are not."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from sfumato.tables import Files, inputs, joined, read_table, table_file

COLUMNS = {"age": [30, None, 50], "word": ["NA", "yes", None], "share": [0.5, 2.0, 0.0]}
CSV = b"age,word,share\n30,NA,0.5\n,yes,2\n50,,0\n"
LINES = b'''{"age": 30, "word": "NA", "share": 0.5}
{"word": "yes", "share": 2}

{"age": 50, "word": null, "share": 0}
'''


def parquet_bytes() -> bytes:
    held = io.BytesIO()
    parquet.write_table(pa.table(COLUMNS), held)
    return held.getvalue()


CONTENTS = {
    "people.csv": CSV,
    "people.CSV": CSV,
    "people.csv.gz": gzip.compress(CSV),
    "people.jsonl": LINES,
    "people.ndjson": LINES.rstrip(),
    "people.jsonl.gz": gzip.compress(LINES),
    "people.parquet": parquet_bytes(),
}


class Typed:
    """Standard input as a terminal or a pipe gives it."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("name", CONTENTS)
def test_every_form_reads_as_the_same_table(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_bytes(CONTENTS[name])
    assert read_table(tmp_path / name).to_pydict() == COLUMNS
    monkeypatch.setattr("sys.stdin", Typed(CONTENTS[name]))
    assert read_table("-").to_pydict() == COLUMNS


@pytest.mark.parametrize("size", [1, 10, 45, 1000])
@pytest.mark.parametrize("name", CONTENTS)
def test_blocks_are_the_table(name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "BLOCK_ROWS", max(1, size // 20))
    monkeypatch.setattr(inputs, "BLOCK_BYTES", max(size, 25) if "csv" in name.lower() else size)
    (tmp_path / name).write_bytes(CONTENTS[name])
    file = table_file(tmp_path / name)
    blocks = list(file.blocks())
    assert file.rows == 3 and file.names == list(COLUMNS)
    assert len({str(block.schema) for block in blocks}) == 1
    assert pa.concat_tables(blocks).to_pydict() == COLUMNS


def test_texts_stay_texts(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"day": "2020-01-01", "zip": "01234"}\n{"day": "no day", "zip": "5"}\n')
    (tmp_path / "b.jsonl").write_text('{"day": "2020-01-01", "zip": "01234"}\n')
    (tmp_path / "c.csv").write_text("day,zip\n2020-01-01,01234\n")
    for name in ("a.jsonl", "b.jsonl", "c.csv"):
        table = read_table(tmp_path / name, text=["day", "zip", "absent"])
        assert table.column_names == ["day", "zip"]
        assert table.slice(0, 1).to_pylist() == [{"day": "2020-01-01", "zip": "01234"}]


def test_a_list_in_json_is_a_list(tmp_path: Path) -> None:
    (tmp_path / "baskets.jsonl").write_text('{"basket": [1, 2]}\n{"basket": []}\n')
    assert read_table(tmp_path / "baskets.jsonl")["basket"].to_pylist() == [[1, 2], []]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", CSV[:-4], "a.csv: not a readable csv file"),
        ("a.csv", b"age,age\n1,2\n", "a.csv: column 'age' appears twice"),
        ("a.csv.gz", CSV, "a.csv.gz: not a readable csv file"),
        ("a.csv.gz", gzip.compress(CSV, mtime=0)[:-12], "a.csv.gz: not a readable csv file"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "a.csv.gz: not a readable csv file"),
        ("a.jsonl", b'{"age": 1}\n{"age": \n', "a.jsonl: row 2: not a JSON object; write one object a line"),
        ("a.jsonl", b'{"age": 1}\n[1, 2]\n', "a.jsonl: row 2: not a JSON object"),
        ("a.jsonl", b'{"age": 1}\n\n{"age": "old"}\n', "a.jsonl: row 2, column 'age': a text, but a number before"),
        ("a.jsonl", b'{"age": 1}\n{"age": true}\n', "a.jsonl: row 2, column 'age': true or false, but a number before"),
        ("a.jsonl", b"age,word\n1,a\n", "a.jsonl: row 1: not a JSON object"),
        ("a.jsonl", b'{"age": 1, "age": 2}\n', "a.jsonl: not a readable jsonl file .*specified twice"),
        ("a.jsonl.gz", LINES, "a.jsonl.gz: not a readable jsonl file"),
        ("a.ndjson", b"\n \n", "a.ndjson: no rows; write one object a line"),
        ("a.parquet", CSV, "a.parquet: not a readable parquet file"),
        ("a.parquet", b"", "a.parquet: the file is empty"),
        ("a.gz", b"x", r"unknown extension '.gz'; use .csv or .parquet or .jsonl"),
        ("a.tar.gz", b"x", r"unknown extension '.tar.gz'; use .csv or .parquet or .jsonl"),
        ("-", b"", "standard input: is empty"),
        ("-", b'{"age": 1}\n{"age"', "standard input: row 2: not a JSON object"),
        ("-", b"PAR1" + bytes(20), "standard input: not a readable parquet file"),
        ("-", b"\x1f\x8bnonsense", "standard input: not readable gzip"),
    ],
)
def test_what_cannot_be_read_is_named(
    name: str, content: bytes, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(content)
    monkeypatch.setattr("sys.stdin", Typed(content))
    with pytest.raises(ValueError, match=words):
        read_table(name if name == "-" else tmp_path / name)


# --- several files ------------------------------------------------------------------------------------------------


def test_files_are_found_by_paths_patterns_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.parquet", "a.parquet", "c.csv", "odd[1].csv"):
        Path(name).touch()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    Path("deep/er/d.parquet").touch()

    def found(names: Any) -> list[str]:
        return [str(path) for path in Files.named(names)]

    assert found("*.parquet") == found(Path("?.parquet")) == ["a.parquet", "b.parquet"]
    assert found(".") == ["a.parquet", "b.parquet"]
    assert found(["c.csv", "*.parquet"]) == ["c.csv", "a.parquet", "b.parquet"]
    assert found("**/d.parquet") == ["deep/er/d.parquet"]
    assert found("odd[1].csv") == ["odd[1].csv"]
    assert [str(Files.named(names)) for names in ("-", "c.csv", ".", ["c.csv", "."])] == [
        "standard input", "c.csv", "a.parquet and b.parquet", "c.csv and 2 more files",
    ]  # fmt: skip
    for names, words in (
        ("x*.csv", r"x\*.csv: no file fits the pattern"),
        ("deep", "deep: the folder holds no .parquet file"),
        (["c.csv", "x*"], r"x\*: no file fits"),
        (["c.csv", "*.csv"], "c.csv: is named twice"),
        (["-", "c.csv"], "standard input .* is read alone"),
    ):
        with pytest.raises(ValueError, match=words):
            Files.named(names)


def test_tables_are_joined_by_their_names_and_kinds_that_differ_are_named() -> None:
    a, b, c = Path("a.csv"), Path("b.csv"), Path("c.csv")
    first, second = pa.table({"x": [1], "y": ["p"]}), pa.table({"y": ["q"], "x": [2.5]})
    assert joined({a: first, b: second}).to_pydict() == {"x": [1.0, 2.5], "y": ["p", "q"]}
    assert joined({a: first, b: pa.table({"x": pa.nulls(1), "y": ["r"]})})["x"].to_pylist() == [1, None]
    for table, words in (
        (pa.table({"x": [1]}), "c.csv: column 'y' is missing, which a.csv has"),
        (first.append_column("z", [[1]]), "c.csv: has a column 'z', which a.csv has not"),
        (pa.table({"x": ["one"], "y": ["p"]}), "c.csv: column 'x' is string, but int64 in a.csv"),
    ):
        with pytest.raises(ValueError, match=words):
            joined({a: first, b: second, c: table})


def test_a_row_that_is_too_long_is_not_told(tmp_path: Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text("age,word\n41,x\n52,y,secret\n", encoding="utf-8")
    with pytest.raises(ValueError, match="Expected 2 columns, got 3") as raised:
        read_table(path)
    assert "secret" not in str(raised.value)
