"""The papers' experiments again, one folder a paper: `runs` measure, `claims` judge, `figures` draw."""
