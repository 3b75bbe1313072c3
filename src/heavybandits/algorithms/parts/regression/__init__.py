"""Linear regression, one row at a time."""
