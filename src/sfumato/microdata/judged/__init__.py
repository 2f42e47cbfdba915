"""What a release was worth and what it gives away: patterns and utility kept, risk, the frontier, the report."""
