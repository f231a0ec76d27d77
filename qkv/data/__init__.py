"""Reading data files, and the built-in worlds."""
