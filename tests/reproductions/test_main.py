"""What the command refuses; the papers' own tests run it."""

import pytest

from reproductions.__main__ import main


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("as99", "invalid choice: 'as99'"),
        ("as00 --scale huge", "invalid choice: 'huge'"),
        ("as00 -o taken", "taken: is a file; name a folder"),
    ],
)
def test_bad_input_ends_in_one_line_and_code_2(line, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    with pytest.raises(SystemExit, match="2"):
        main(line.split())
    assert said in capsys.readouterr().err
