"""Reading a data owner's table: the types of its columns, their roles, and all values as numbers."""
