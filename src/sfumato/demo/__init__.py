"""Data to try things on: a plan and the people who answer it, the papers' generators, and their real data sets."""
