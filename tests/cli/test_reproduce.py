"""Where the papers' experiments are; tests/reproductions repeats them."""


def test_the_command_says_how_to_run_the_experiments_in_a_checkout(refused):
    assert "run python -m reproductions as00 --scale quick, or make papers" in refused("reproduce as00")


def test_an_unknown_paper_is_refused_with_the_list(refused):
    assert "paper 'as99' is unknown; choose one of as00, egs03, ib04, lkt08" in refused("reproduce as99")
