"""What is refused; tests/papers/test_as00.py reproduces a paper by the command."""


def test_an_unknown_paper_is_refused_with_the_list(refused):
    assert "paper 'as99' is unknown; choose one of as00, egs03, ib04, lkt08" in refused("reproduce as99")


def test_a_file_in_the_place_of_the_folder_is_refused(refused):
    assert "plan.toml: is a file; name a folder" in refused("reproduce as00 --quick -o plan.toml")


def test_an_unknown_or_contradictory_scale_is_refused(refused):
    assert "scale 'huge' is not possible; choose one of quick, middle, full" in refused("reproduce as00 --scale huge")
    assert "scale 'full' with --quick is not possible" in refused("reproduce as00 --scale full --quick")
