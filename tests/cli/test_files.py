import stat

import pyarrow as pa
import pytest

from sfumato.cli.files import read_table, write_table, write_whole


def test_a_write_that_fails_leaves_the_old_file_and_no_part(tmp_path):
    target = tmp_path / "a.csv"
    target.write_text("old")

    def fail(part):
        part.write_text("half")
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="disk"):
        write_whole(target, fail)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_written_file_has_the_usual_permissions(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    write_whole(tmp_path / "b.csv", lambda part: part.write_text("x"))
    assert stat.S_IMODE((tmp_path / "b.csv").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.parametrize("extension", ["csv", "parquet", "CSV"])
def test_what_is_written_is_read_back(tmp_path, extension):
    table = pa.table({"x": [1.25, None, -3.0], "name": ["a", None, "1"]})
    write_table(table, tmp_path / f"t.{extension}")
    assert read_table(tmp_path / f"t.{extension}", text=["name"]).to_pydict() == table.to_pydict()
