"""Comparing a release with its original: the patterns that were to survive, and the statistics of the table."""
