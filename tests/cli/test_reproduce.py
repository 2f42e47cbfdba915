"""Where the papers' experiments are; tests/reproductions repeats them."""


def test_the_command_says_how_to_run_the_experiments_in_a_checkout(refused):
    assert "run python -m reproductions as00 --scale quick, or make papers" in refused("reproduce as00")
