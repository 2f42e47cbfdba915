"""Worked examples: a plan and the simulated people who answer it."""
