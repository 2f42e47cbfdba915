"""A data owner's table: its types and texts, the role of each column, and all of it as numbers."""
