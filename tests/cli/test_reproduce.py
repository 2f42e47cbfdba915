from dataclasses import replace

import pytest

from sfumato.papers import as00


def test_an_unknown_paper_is_refused_with_the_list(refused):
    assert "paper 'as99' is unknown; choose one of as00, egs03, ib04, lkt08" in refused("reproduce as99")


def test_a_file_in_the_place_of_the_folder_is_refused(refused):
    assert "plan.toml: is a file; name a folder" in refused("reproduce as00 --quick -o plan.toml")


@pytest.mark.parametrize("paper", ["as00"])
def test_a_paper_is_reproduced_quickly_and_says_what_was_kept(sfumato, folder, paper, monkeypatch):
    monkeypatch.setattr(as00, "QUICK", replace(as00.QUICK, train=600, test=300, levels=(25,), functions=(1,)))
    answer = sfumato(f"reproduce {paper} --quick -o again")
    assert answer.code == 0, answer.err
    assert "kept: " in answer.out
    assert answer.out.rstrip().endswith("everything is in again")
    assert {"statements.md", "figure2.png", "figure5.png", "figure6.png"} <= {
        p.name for p in (folder / "again").iterdir()
    }
